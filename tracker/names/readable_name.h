// Converts symbols of a linker's table to names that people read.
//
// Pure functions: any thread, nothing thrown, linear in the name's length; they allocate with
// operator new, and the C++ demangler with malloc.
#ifndef ALLOMON_TRACKER_NAMES_READABLE_NAME_H_
#define ALLOMON_TRACKER_NAMES_READABLE_NAME_H_

#include <string>
#include <string_view>

namespace allomon {

// Returns the function's name as its source has it:
//   C++ is demangled, and has no ABI tags (`[abi:cxx11]`), nor the version that libc++ puts into
//   its names (`std::__1::vector`);
//   Rust's older names are demangled, and have no hash (`::h0123456789abcdef`);
//   suffixes that compilers give to copies and parts of a function (`.constprop.0`, `.isra.0`,
//   `.part.0`, `.cold`, `.lto_priv.0`, `.llvm.1234`) are cut off.
// Rust's v0 names (`_R...`) and D's (`_D...`) stay mangled: reports demangle them.
std::string ReadableName(std::string_view symbol);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_NAMES_READABLE_NAME_H_
