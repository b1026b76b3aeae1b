// Computes short names of functions from compilers' signatures.
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_FUNCTION_NAME_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_FUNCTION_NAME_H_

#include <string>
#include <string_view>

namespace allomon {

// Returns the qualified name in a signature as __PRETTY_FUNCTION__ spells it, without return type
// and parameters.  Template arguments stay, so that instances differ:
//   "int ns::S::m(int) const"         -> "ns::S::m"
//   "T ns::add(T) [with T = char]"    -> "ns::add [T = char]"
//   "main(int, char**)::<lambda(int)>" -> "main(int, char**)::<lambda(int)>"
// A signature that the parser does not understand is returned unchanged.
std::string FunctionNameOf(std::string_view signature);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_FUNCTION_NAME_H_
