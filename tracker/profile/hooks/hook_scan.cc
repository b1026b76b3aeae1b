#include <link.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tracker/callstack/file_names.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/profile/hooks/entry_hooks.h"
#include "tracker/profile/hooks/hook_code.h"
#include "tracker/symbols/elf_file.h"
#include "tracker/symbols/elf_functions.h"

namespace allomon::internal {
namespace {

// The number of modules that the program was started with.  0 means that they are not counted yet,
// and every module counts as one of them.  In the loader's list, modules that dlopen loads follow
// these.
size_t g_modules_at_start = 0;

// Priority 101 is before the constructor that starts a profile from the environment.
__attribute__((constructor(101))) void CountModulesAtStart() {
  dl_iterate_phdr([](dl_phdr_info*, size_t, void*) { return ++g_modules_at_start, 0; }, nullptr);
}

// The executable comes first; the loader's list has no name for it.
std::vector<LoadedModule> ModulesAtStart() {
  std::vector<LoadedModule> modules = LoadedModules();
  if (g_modules_at_start != 0 && g_modules_at_start < modules.size()) {
    modules.erase(modules.begin() + g_modules_at_start, modules.end());
  }
  if (!modules.empty()) modules[0].path = ProgramPath();
  return modules;
}

// Whether all bytes that HookOf() reads of a function lie in the code.
bool CanRead(uintptr_t start, const CodeRange& code) {
  return start >= code.begin && start < code.end && code.end - start >= kHookScanBytes;
}

void AddHooks(const ElfSection& symbols, uintptr_t bias, CodeRange code,
              std::vector<uintptr_t>* hooks) {
  // The variables are captured by value, which keeps all three in registers: start-up runs this for
  // every symbol.
  ForEachUnnamedFunction(symbols.data, [bias, code, hooks](const Elf64_Sym& symbol) {
    const uintptr_t start = bias + symbol.st_value;
    if (!CanRead(start, code) || !MayHaveHook(start)) return;
    const uintptr_t hook = HookOf(start);
    if (hook != 0) hooks->push_back(hook);
  });
}

// Whether this very code is the module's.
bool IsOurs(const LoadedModule& module) {
  const auto here = reinterpret_cast<uintptr_t>(&ScanForHooks);
  return std::any_of(module.code.begin(), module.code.end(),
                     [here](const CodeRange& code) { return code.ContainsFrame(here); });
}

std::vector<uintptr_t> HooksOf(const LoadedModule& module) {
  std::vector<uintptr_t> hooks;
  if (!IsFileName(module.path)) return hooks;
  const std::unique_ptr<ElfFile> file = ElfFile::Open(module.path);
  if (file == nullptr) return hooks;
  for (size_t i = 0; i < file->section_count(); ++i) {
    const ElfSection section = file->Section(i);
    if (section.type != SHT_SYMTAB) continue;
    for (const CodeRange& code : module.code) AddHooks(section, module.bias, code, &hooks);
  }
  std::sort(hooks.begin(), hooks.end());
  hooks.erase(std::unique(hooks.begin(), hooks.end()), hooks.end());  // aliases
  return hooks;
}

}  // namespace

HooksFound ScanForHooks() {
  HooksFound found;
  const std::vector<LoadedModule> modules = ModulesAtStart();
  for (const LoadedModule& module : modules) {
    if (&module != modules.data() && IsOurs(module)) continue;
    const std::vector<uintptr_t> hooks = HooksOf(module);
    if (hooks.empty()) continue;
    found.starts.insert(found.starts.end(), hooks.begin(), hooks.end());
    found.module_ends.push_back(found.starts.size());
  }
  return found;
}

}  // namespace allomon::internal
