// Reports as pictures.
#ifndef ALLOMON_TOOLS_REPORT_PICTURE_PICTURE_H_
#define ALLOMON_TOOLS_REPORT_PICTURE_PICTURE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/report/flat/functions.h"

namespace allomon::report {

// An SVG document.  Areas show what functions used themselves, coloured by origin (origin.h).  Bars
// below show the first `rows` functions (0: all) with their stack data, if there are any, and the
// numbers of the count that `key` names.  Callers are not drawn, since a profile does not say how
// much of a callee was used for which caller.
std::string ToPicture(const Profile& profile, const std::vector<Function>& functions, SortKey key,
                      size_t rows);

// Bars for growth point to the right, for shrinking to the left.
std::string ToPicture(const Pair& pair, const std::vector<Change>& changes, SortKey key,
                      size_t rows);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_PICTURE_PICTURE_H_
