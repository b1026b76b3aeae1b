// Finds the functions that the compiler left room for a hook in, of the executable and the
// shared libraries that it was started with, by their symbol tables: those that start with
// nine bytes of no-ops.
//
// Not by the list that the compiler makes: g++ 12 puts all of a file's functions into one
// section of it, so that an inline function which the linker drops breaks the link, and a
// first function that it drops loses the list (GCC bug 110729).
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_SCAN_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allomon::internal {

inline constexpr size_t kHookBytes = 9;

// Their no-ops' addresses in this process: module by module in the order in which the loader
// has them, which is the same in every run, and ascending in each.  A module that is stripped,
// or cannot be read, has none; nor has a library that was loaded later, which may be unloaded.
struct HooksFound {
  std::vector<uintptr_t> starts;
  std::vector<size_t> module_ends;  // indices behind the last one of each module that has any
};
// Reads files; allocates.
HooksFound ScanForHooks();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_SCAN_H_
