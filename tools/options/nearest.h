// The name that was probably meant.  Pure functions.
#ifndef ALLOMON_TOOLS_OPTIONS_NEAREST_H_
#define ALLOMON_TOOLS_OPTIONS_NEAREST_H_

#include <string>
#include <vector>

namespace allomon::options {

// The nearest of `names`: one that `typed` begins, or that a slip or two turn into `typed`.  Empty
// if no name is near, or several are equally near.
std::string Nearest(const std::string& typed, const std::vector<std::string>& names);

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_NEAREST_H_
