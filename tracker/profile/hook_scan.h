// Finds the functions of the executable that the compiler left room for a hook in, by its
// symbol table: those that start with nine bytes of no-ops.
//
// Not by the list that the compiler makes: g++ 12 puts all of a file's functions into one
// section of it, so that an inline function which the linker drops breaks the link, and a
// first function that it drops loses the list (GCC bug 110729).
#ifndef ALLOMON_TRACKER_PROFILE_HOOK_SCAN_H_
#define ALLOMON_TRACKER_PROFILE_HOOK_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allomon::internal {

inline constexpr size_t kHookBytes = 9;

// Their no-ops' addresses in this process, ascending.  Empty for a stripped executable, or
// one that cannot be read.  Reads the file; allocates.
std::vector<uintptr_t> ScanForHooks();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOK_SCAN_H_
