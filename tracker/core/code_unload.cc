#include "tracker/core/code_unload.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "tracker/callstack/capture.h"
#include "tracker/callstack/code_files.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/core/control.h"
#include "tracker/core/stack_table.h"

namespace allomon::internal {

std::atomic<void (*)(uintptr_t, uintptr_t, uintptr_t)> recorder_unload_hook{nullptr};

namespace {

using Modules = std::vector<LoadedModule>;

// Lists the loaded modules with their files, which cannot be found once the modules are unloaded.
// The memory of these lists is not sampled.
Modules ModulesUnsampled() {
  const SuspendedSampling suspended;
  Modules modules = LoadedModules();
  IdentifyModules(&modules);
  return modules;
}

bool IsLoaded(const LoadedModule& module, const Modules& modules) {
  return std::find(modules.begin(), modules.end(), module) != modules.end();
}

// Whether other code is already loaded in that range.
bool IsTaken(const CodeRange& range, const Modules& modules) {
  for (const LoadedModule& module : modules) {
    for (const CodeRange& code : module.code) {
      if (code.Overlaps(range)) return true;
    }
  }
  return false;
}

// Maps modules to the first stack that may have their frames: no stack before `first` has a frame
// of that module.  A module that was loaded later has its frames in stacks from `next` on.
// Immutable once made, and always true.
struct SeenModules {
  struct Seen {
    LoadedModule module;
    StackId first;
  };
  std::vector<Seen> modules;
  StackId next = 1;

  StackId FirstOf(const LoadedModule& module) const {
    for (const Seen& seen : modules) {
      if (seen.module == module) return seen.first;
    }
    return next;
  }
};

// The modules that the last dlclose found.  A thread that takes the object owns it, and leaves
// null.  Another thread then searches all stacks, which is slower but still correct.
std::atomic<SeenModules*> g_seen{nullptr};

std::unique_ptr<SeenModules> TakeSeen() {
  std::unique_ptr<SeenModules> seen(g_seen.exchange(nullptr, std::memory_order_acq_rel));
  return seen != nullptr ? std::move(seen) : std::make_unique<SeenModules>();
}

void PublishSeen(const SeenModules& before, const Modules& now, StackId next) {
  auto seen = std::make_unique<SeenModules>();
  for (const LoadedModule& module : now) {
    seen->modules.push_back({module, before.FirstOf(module)});
  }
  seen->next = next;
  delete g_seen.exchange(seen.release(), std::memory_order_acq_rel);
}

// The module's frames are in stacks from `first` on.  Stacks from `first_new` on were interned
// while it was being unloaded.  If another thread has loaded code at the same place by now, the
// frames of these may belong to either module.
void Rename(const LoadedModule& gone, const Modules& now, StackId first, StackId first_new) {
  const uintptr_t bias = UnloadedBias(gone);
  const auto hook = recorder_unload_hook.load(std::memory_order_acquire);
  for (const CodeRange& range : gone.code) {
    if (hook != nullptr) hook(range.begin, range.end, bias - gone.bias);
    const uintptr_t new_bias = IsTaken(range, now) ? NamelessBias() : bias;
    Stacks().RenameFrames(first, first_new, range.begin, range.end, bias - gone.bias);
    Stacks().RenameFrames(first_new, UINT32_MAX, range.begin, range.end, new_bias - gone.bias);
  }
}

}  // namespace

int UnloadCode(void* handle, int (*unload)(void*)) {
  const Modules before = ModulesUnsampled();
  const StackId first_new = Stacks().size() + 1;
  const int result = unload(handle);
  const SuspendedSampling suspended;
  const StackId next = Stacks().size() + 1;
  const Modules now = LoadedModules();
  const std::unique_ptr<SeenModules> seen = TakeSeen();
  bool forget = false;
  for (const LoadedModule& module : before) {
    if (IsLoaded(module, now)) continue;
    Rename(module, now, seen->FirstOf(module), first_new);
    forget = true;
  }
  if (forget) ForgetUnloadedCode();
  PublishSeen(*seen, now, next);
  return result;
}

}  // namespace allomon::internal
