#include "tracker/symbols/symbols.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "tracker/base/check.h"
#include "tracker/callstack/file_names.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/names/base_name.h"
#include "tracker/names/readable_name.h"
#include "tracker/symbols/mapped_image.h"
#include "tracker/symbols/memory_map.h"
#include "tracker/symbols/module_file.h"
#include "tracker/symbols/module_symbols.h"

namespace allomon {
namespace {

using internal::Mapping;
using internal::ModuleSymbols;

constexpr char kUnknown[] = "[unknown]";

std::string Hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, value);
  return text;
}

constexpr char kVdso[] = "[vdso]";

[[maybe_unused]] bool HasCodeAt(const std::vector<internal::CodeRange>& ranges, uintptr_t pc) {
  return std::any_of(ranges.begin(), ranges.end(), [pc](const internal::CodeRange& range) {
    return range.begin <= pc && pc < range.end;
  });
}

std::unique_ptr<ModuleSymbols> SymbolsOfVdso(const Mapping& mapping) {
  const auto* image = reinterpret_cast<const uint8_t*>(mapping.begin);
  auto file = internal::ElfFile::FromMemory(image, mapping.end - mapping.begin);
  return file ? std::make_unique<ModuleSymbols>(std::move(file), "") : nullptr;
}

}  // namespace

class ProcessSymbols::Impl {
 public:
  Impl() : mappings_(internal::ReadExecutableMappings()) {}

  Symbol Resolve(uintptr_t pc) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Place place = PlaceOf(pc);
    if (place.code == nullptr) return {kUnknown, kUnknown, kUnknown, 0, false};
    if (place.symbols == nullptr) return WithoutSymbols(place, pc);
    const Symbol symbol = Describe(place, pc);
    if (!symbol.named) place.code->lacks_names = true;
    return symbol;
  }

  uintptr_t FunctionStart(uintptr_t pc) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Place place = PlaceOf(pc);
    if (place.symbols == nullptr) return 0;
    const auto fde = place.symbols->FindFde(place.address);
    return !fde ? 0 : pc - (place.address - fde->begin);
  }

  std::string MissingNames() {
    std::lock_guard<std::mutex> lock(mutex_);
    const Code* first = nullptr;
    size_t others = 0;
    const auto count = [&](const Code& code) {
      if (code.why.empty() || !code.lacks_names) return;
      if (first != nullptr) ++others;
      if (first == nullptr) first = &code;
    };
    for (const auto& module : modules_) count(module->code);
    for (const auto& [file, code] : mapped_) count(code);
    for (const auto& [gone, code] : unloaded_) count(code);
    if (first == nullptr) return "";
    std::string line = first->why;
    if (others != 0) line += ", and " + std::to_string(others) + " more files cannot be read";
    return line + ": functions that are not exported are named by their addresses";
  }

 private:
  // Code and its symbols, from its file or from memory.
  struct Code {
    std::string path;
    std::unique_ptr<ModuleSymbols> symbols;  // nullptr if nothing is known
    FileIdentity file;                       // of code without a build id
    std::string why;                         // its file is not read
    bool lacks_names = false;                // of a queried function
  };

  // A module in the loader's list.
  struct Module {
    std::vector<internal::CodeRange> ranges;
    uintptr_t bias;
    Code code;
  };

  // The place of a pc: its code, and its address in the file (without load bias).
  struct Place {
    Code* code = nullptr;
    ModuleSymbols* symbols = nullptr;  // the code's, if they reach to the pc
    uint64_t address = 0;
    uint64_t begin = 0;  // begin of the code around it, likewise; without symbols, in the process
  };

  // Uses the file if it is there, without the loader, whose lock another thread may hold.
  Place PlaceOf(uintptr_t pc) {
    if (internal::IsUnloadedCode(pc)) return PlaceOfUnloaded(pc);
    const Place mapped = PlaceInMapping(pc);
    if (mapped.symbols != nullptr) return mapped;
    const Place loaded = PlaceInModule(pc);
    return loaded.code != nullptr ? loaded : mapped;
  }

  Place PlaceInModule(uintptr_t pc) {
    for (const auto& module : modules_) {
      for (const internal::CodeRange& range : module->ranges) {
        if (pc < range.begin || pc >= range.end) continue;
        Code& code = module->code;
        if (code.symbols == nullptr) return {&code, nullptr, 0, range.begin};
        return {&code, code.symbols.get(), pc - module->bias, range.begin - module->bias};
      }
    }
    return AddModuleAt(pc) ? PlaceInModule(pc) : Place();
  }

  bool AddModuleAt(uintptr_t pc) {
    const auto found = internal::FindLoadedModule(pc);
    if (!found) return false;
    const internal::LoadedModule& loaded = found->module;
    const Mapping* const mapping = internal::FindMapping(mappings_, pc);
    const bool has_file = found->is_program || internal::IsFileName(loaded.path);
    auto module = std::make_unique<Module>();
    module->ranges = loaded.code;
    ALLOMON_DCHECK("inv.symbols.found", HasCodeAt(module->ranges, pc));
    module->bias = loaded.bias;
    Code& code = module->code;
    code.path = has_file ? PathOf(*found, mapping) : kVdso;
    internal::OpenedFile opened;
    if (has_file) opened = internal::OpenModule(*found, code.path, mapping);
    if (!TakeFile(std::move(opened), &code)) {
      if (auto image = internal::MappedImage::CopyOf(pc)) {
        code.symbols = std::make_unique<ModuleSymbols>(std::move(image), loaded.build_id);
      }
      internal::MappedFile noted;
      if (internal::FindNotedFile(loaded.code.front().begin, &noted)) code.file = noted.identity;
    }
    modules_.push_back(std::move(module));
    return true;
  }

  // False if it could not be opened.
  static bool TakeFile(internal::OpenedFile opened, Code* code) {
    if (opened.file == nullptr) {
      code->why = opened.why;
      return false;
    }
    code->file = opened.file->identity();
    code->symbols = std::make_unique<ModuleSymbols>(std::move(opened.file), code->path);
    return true;
  }

  // The kernel has the current path of a file, the loader the one that was requested.
  static std::string PathOf(const internal::FoundModule& found, const Mapping* mapping) {
    if (mapping != nullptr && mapping->path[0] == '/') return internal::PathOf(*mapping);
    if (!found.is_program) return found.module.path;
    const char* const program = internal::ProgramPath();
    return *program == '\0' ? kUnknown : program;
  }

  Place PlaceInMapping(uintptr_t pc) {
    const Mapping* const mapping = internal::FindMapping(mappings_, pc);
    if (mapping == nullptr) return {};
    Code& code = CodeOf(*mapping);
    const uint64_t within = pc - mapping->begin;
    std::optional<uint64_t> address;
    if (code.symbols != nullptr) address = code.symbols->AddressOfOffset(within + mapping->offset);
    if (!address) return {&code, nullptr, 0, mapping->begin};
    return {&code, code.symbols.get(), *address, *address - within};
  }

  Code& CodeOf(const Mapping& mapping) {
    const auto [at, is_new] = mapped_.try_emplace({mapping.path, mapping.device, mapping.inode});
    Code& code = at->second;
    if (!is_new) return code;
    code.path = internal::PathOf(mapping);
    if (mapping.path == kVdso) {
      code.symbols = SymbolsOfVdso(mapping);
    } else if (mapping.path[0] == '/') {
      TakeFile(internal::OpenMapping(mapping), &code);
    }
    return code;
  }

  Place PlaceOfUnloaded(uintptr_t pc) {
    Place place;
    const internal::UnloadedModule* gone = internal::FindUnloadedModule(pc, &place.address);
    if (gone == nullptr) return place;
    const auto [at, is_new] = unloaded_.try_emplace(gone);
    Code& code = at->second;
    place.code = &code;
    place.symbols = code.symbols.get();
    if (!is_new) return place;
    code.path = gone->path;
    TakeFile(internal::OpenUnloaded(*gone), &code);
    place.symbols = code.symbols.get();
    return place;
  }

  static Symbol Unnamed(const std::string& module, uintptr_t start, uint64_t offset) {
    const std::string file = BaseName(module);
    return {file + "+" + Hex(offset), module, file + ": " + Hex(offset), start, false};
  }

  // Unloaded code still has an address in its file, so its places stay distinct.
  static Symbol WithoutSymbols(const Place& place, uintptr_t pc) {
    place.code->lacks_names = true;
    if (!internal::IsUnloadedCode(pc)) return Unnamed(place.code->path, place.begin, 0);
    return Unnamed(place.code->path, pc, place.address);
  }

  static Symbol Describe(const Place& place, uintptr_t pc) {
    const uintptr_t bias = pc - place.address;
    ModuleSymbols& symbols = *place.symbols;
    const internal::FunctionSymbol* symbol = symbols.FindSymbol(place.address);
    ALLOMON_DCHECK("inv.symbols.found", symbol == nullptr || symbol->range.begin <= place.address);
    uint64_t start = place.begin;
    if (symbol != nullptr) {
      start = symbol->range.begin;
    } else if (const auto fde = symbols.FindFde(place.address)) {
      start = fde->begin;
    }
    Symbol result = Unnamed(place.code->path, start + bias, start);
    result.address = place.address;
    result.build_id = symbols.build_id();
    if (result.build_id.empty()) result.file = place.code->file;
    if (symbol != nullptr) {
      result.name = ReadableName(symbol->name);
      result.named = true;
    }
    if (const auto line = symbols.FindLine(start)) {
      result.position = line->file + ": " + std::to_string(line->line);
    }
    return result;
  }

  const std::vector<Mapping> mappings_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Module>> modules_;
  std::map<std::tuple<std::string, uint64_t, uint64_t>, Code> mapped_;  // path, device, inode
  std::map<const internal::UnloadedModule*, Code> unloaded_;
};

std::unique_ptr<ProcessSymbols> ProcessSymbols::Load() {
  return std::unique_ptr<ProcessSymbols>(new ProcessSymbols(std::make_unique<Impl>()));
}

ProcessSymbols::ProcessSymbols(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessSymbols::~ProcessSymbols() = default;

Symbol ProcessSymbols::Resolve(uintptr_t pc) const {
  ManagedFunctionName managed;
  if (!FindManagedFunction(pc, &managed)) return impl_->Resolve(pc);
  FindManagedFunction(managed.function, &managed);  // for a line: the beginning of its function
  return {std::string(managed.name), "[managed]",
          std::string(managed.file) + ": " + std::to_string(managed.line), managed.address, true};
}

std::string ProcessSymbols::MissingNames() const { return impl_->MissingNames(); }

uintptr_t ProcessSymbols::FunctionStart(uintptr_t pc) const {
  ManagedFunctionName managed;
  return FindManagedFunction(pc, &managed) ? managed.function : impl_->FunctionStart(pc);
}

}  // namespace allomon
