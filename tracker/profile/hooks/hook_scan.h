// Finds the functions that the compiler left room for a hook in, in the executable and in the
// shared libraries that it was started with.  It reads their symbol tables and takes the functions
// that start with nine bytes of no-ops.
//
// The list that the compiler makes is not used.  g++ 12 puts all of a file's functions into one
// section of that list.  So an inline function that the linker drops breaks the link, and a first
// function that the linker drops loses the list (GCC bug 110729).
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_SCAN_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allomon::internal {

inline constexpr size_t kHookBytes = 9;

// The addresses of the no-ops in this process.  They are grouped by module, in the loader's order,
// which is the same in every run; in each module they ascend.  A module that is stripped, or cannot
// be read, has none.  A library that was loaded later has none either, because it may be unloaded,
// and so does the library that this code is in: its symbols are a third of a short program's start.
struct HooksFound {
  std::vector<uintptr_t> starts;
  std::vector<size_t> module_ends;  // indices behind the last hook of each module that has hooks
};
// Reads files; allocates.
HooksFound ScanForHooks();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_SCAN_H_
