#include "tracker/core/code_unload.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "tracker/callstack/capture.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/core/control.h"
#include "tracker/core/stack_table.h"

namespace allomon::internal {

std::atomic<void (*)(uintptr_t, uintptr_t, uintptr_t)> recorder_unload_hook{nullptr};

namespace {

using Modules = std::vector<LoadedModule>;

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
  uint64_t unloads = 0;  // that the loader had done by then

  const Seen* Find(const LoadedModule& module) const {
    for (const Seen& seen : modules) {
      if (seen.module == module) return &seen;
    }
    return nullptr;
  }
  StackId FirstOf(const LoadedModule& module) const {
    const Seen* const seen = Find(module);
    return seen == nullptr ? next : seen->first;
  }
};

// The modules that the last dlclose found.  A thread that takes the object owns it, and leaves
// null.  Another thread then searches all stacks, which is slower but still correct.
std::atomic<SeenModules*> g_seen{nullptr};

std::unique_ptr<SeenModules> TakeSeen() {
  std::unique_ptr<SeenModules> seen(g_seen.exchange(nullptr, std::memory_order_acq_rel));
  return seen != nullptr ? std::move(seen) : std::make_unique<SeenModules>();
}

// The loaded modules with their files, which cannot be found once the modules are unloaded.
struct Listed {
  Modules modules;
  Modules others;  // of the namespace that is unloaded from, if that is not the program's
  uint64_t unloads = 0;
};

// Asking for files reads the process's mappings, so it is done once for each module.  An equal
// module is another one if it was unloaded and loaded again meanwhile, which the C library does by
// itself, too.  The memory of these lists is not sampled.
Listed ListBefore(void* handle) {
  const SuspendedSampling suspended;
  Listed listed;
  listed.others = ModulesOfOtherNamespace(handle);
  listed.modules = LoadedModules(&listed.unloads);
  std::unique_ptr<SeenModules> seen = TakeSeen();
  if (listed.unloads == seen->unloads) {
    for (LoadedModule& module : listed.modules) {
      if (!module.build_id.empty()) continue;
      const SeenModules::Seen* const known = seen->Find(module);
      if (known != nullptr) module.file = known->module.file;
    }
  }
  SeenModules* none = nullptr;
  if (g_seen.compare_exchange_strong(none, seen.get(), std::memory_order_acq_rel)) seen.release();
  IdentifyModules(&listed.modules);
  IdentifyModules(&listed.others);
  return listed;
}

// Those of the modules before that are loaded still have their files, unless others than the `gone`
// ones were unloaded, too.
void KeepFiles(const Listed& before, size_t gone, Listed* now) {
  if (now->unloads != before.unloads + gone) return;
  for (LoadedModule& module : now->modules) {
    if (!module.build_id.empty()) continue;
    const auto same = std::find(before.modules.begin(), before.modules.end(), module);
    if (same != before.modules.end()) module.file = same->file;
  }
}

void PublishSeen(const SeenModules& before, Listed now, StackId next) {
  auto seen = std::make_unique<SeenModules>();
  for (LoadedModule& module : now.modules) {
    const StackId first = before.FirstOf(module);
    seen->modules.push_back({std::move(module), first});
  }
  seen->next = next;
  seen->unloads = now.unloads;
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
  const Listed before = ListBefore(handle);
  const StackId first_new = Stacks().size() + 1;
  const int result = unload(handle);
  const SuspendedSampling suspended;
  const StackId next = Stacks().size() + 1;
  Listed now;
  now.modules = LoadedModules(&now.unloads);
  const std::unique_ptr<SeenModules> seen = TakeSeen();
  size_t gone = 0;
  for (const LoadedModule& module : before.modules) {
    if (IsLoaded(module, now.modules)) continue;
    Rename(module, now.modules, seen->FirstOf(module), first_new);
    ++gone;
  }
  // Nobody has noted in which stacks these may be.
  constexpr StackId kFirst = 1;
  for (const LoadedModule& module : before.others) {
    if (IsStillLoaded(module)) continue;
    Rename(module, now.modules, kFirst, first_new);
    ++gone;
  }
  if (gone != 0) ForgetUnloadedCode();
  KeepFiles(before, gone, &now);
  PublishSeen(*seen, std::move(now), next);
  return result;
}

}  // namespace allomon::internal
