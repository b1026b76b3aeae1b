#include "tracker/core/code_unload.h"

#include <algorithm>
#include <vector>

#include "tracker/callstack/capture.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/core/control.h"
#include "tracker/core/stack_table.h"

namespace allomon::internal {
namespace {

using Modules = std::vector<LoadedModule>;

// The memory of our own lists is not sampled.
Modules ModulesUnsampled() {
  const SuspendedSampling suspended;
  return LoadedModules();
}

bool IsLoaded(const LoadedModule& module, const Modules& modules) {
  return std::find(modules.begin(), modules.end(), module) != modules.end();
}

// Whether other code has taken the place already.
bool IsTaken(const CodeRange& range, const Modules& modules) {
  for (const LoadedModule& module : modules) {
    for (const CodeRange& code : module.code) {
      if (code.Overlaps(range)) return true;
    }
  }
  return false;
}

// Stacks from `first_new` on were first seen while the module was being unloaded: if another thread
// has loaded code in its place by now, they may be of either.
void Rename(const LoadedModule& gone, const Modules& now, StackId first_new) {
  const uintptr_t bias = UnloadedBias(gone);
  for (const CodeRange& range : gone.code) {
    const uintptr_t new_bias = IsTaken(range, now) ? NamelessBias() : bias;
    Stacks().RenameFrames(1, first_new, range.begin, range.end, bias - gone.bias);
    Stacks().RenameFrames(first_new, UINT32_MAX, range.begin, range.end, new_bias - gone.bias);
  }
}

}  // namespace

int UnloadCode(void* handle, int (*unload)(void*)) {
  const Modules before = ModulesUnsampled();
  const StackId first_new = Stacks().size() + 1;
  const int result = unload(handle);
  const SuspendedSampling suspended;
  const Modules now = LoadedModules();
  bool forget = false;
  for (const LoadedModule& module : before) {
    if (IsLoaded(module, now)) continue;
    Rename(module, now, first_new);
    forget = true;
  }
  if (forget) ForgetUnloadedCode();
  return result;
}

}  // namespace allomon::internal
