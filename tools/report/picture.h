// Reports as pictures.
#ifndef ALLOMON_TOOLS_REPORT_PICTURE_H_
#define ALLOMON_TOOLS_REPORT_PICTURE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/report/functions.h"

namespace allomon::report {

// An SVG document.  Areas are what functions used themselves, coloured by source file; bars
// below show the first `rows` (0: all) with their stack data, if there are any.  Who called
// whom is not drawn: a profile does not say how much of a callee was for which caller.
std::string ToPicture(const Profile& profile, const std::vector<Function>& functions, size_t rows);

// Bars to the right for growth, to the left for the opposite.
std::string ToPicture(const Pair& pair, const std::vector<Change>& changes, SortKey key,
                      size_t rows);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_PICTURE_H_
