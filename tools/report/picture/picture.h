// Draws reports as pictures.
#ifndef ALLOMON_TOOLS_REPORT_PICTURE_PICTURE_H_
#define ALLOMON_TOOLS_REPORT_PICTURE_PICTURE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/report/flat/functions.h"

namespace allomon::report {

// Returns an SVG document.  Areas show the own amounts of functions, coloured by origin (origin.h).
// Bars below show the first `rows` functions (0: all) with their stack data, if the profile has
// them, and the numbers of the count that `key` names.  Callers are not drawn, because a profile
// does not say how much of a callee belongs to which caller.
std::string ToPicture(const Profile& profile, const std::vector<Function>& functions, SortKey key,
                      size_t rows);

// Draws growth as bars to the right, and shrinking as bars to the left.
std::string ToPicture(const Pair& pair, const std::vector<Change>& changes, SortKey key,
                      size_t rows);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_PICTURE_PICTURE_H_
