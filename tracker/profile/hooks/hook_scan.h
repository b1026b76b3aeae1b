// Finds the functions with room for a hook, in the executable and in the shared libraries that it
// was started with.  It reads their symbol tables and takes the functions that start with nine
// bytes of no-ops.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_SCAN_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allomon::internal {

inline constexpr size_t kHookBytes = 9;

// The addresses of the no-ops in this process.  They are grouped by module, in the loader's order,
// which is the same in every run; in each module they ascend.  A module that is stripped or
// unreadable is left out.  So is a library that was loaded later, because it may be unloaded, and
// the library with this code, whose symbols would take a third of a short program's start.
struct HooksFound {
  std::vector<uintptr_t> starts;
  std::vector<size_t> module_ends;  // for each module with hooks, the index after its last hook
};
// Reads files; allocates.
HooksFound ScanForHooks();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_SCAN_H_
