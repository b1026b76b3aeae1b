#include "tracker/symbols/symbols.h"

#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>
#include <vector>

#include "tracker/callstack/managed_functions.h"
#include "tracker/callstack/unloaded_code.h"
#include "tracker/names/readable_name.h"
#include "tracker/symbols/memory_map.h"
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

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// nullptr if the mapping is of no readable ELF file.
std::unique_ptr<ModuleSymbols> LoadModule(const Mapping& mapping) {
  if (mapping.path == "[vdso]") {
    const auto* image = reinterpret_cast<const uint8_t*>(mapping.begin);
    auto file = internal::ElfFile::FromMemory(image, mapping.end - mapping.begin);
    return file ? std::make_unique<ModuleSymbols>(std::move(file), "") : nullptr;
  }
  if (mapping.path[0] != '/') return nullptr;
  auto file = internal::ElfFile::Open(mapping.path);
  return file ? std::make_unique<ModuleSymbols>(std::move(file), mapping.path) : nullptr;
}

}  // namespace

class ProcessSymbols::Impl {
 public:
  Impl() : mappings_(internal::ReadExecutableMappings()) {}

  Symbol Resolve(uintptr_t pc) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Place place = internal::IsUnloadedCode(pc) ? LocateUnloaded(pc) : Locate(pc);
    if (place.mapping == nullptr) return {kUnknown, kUnknown, kUnknown, 0, false};
    if (place.module == nullptr) return Unnamed(place.mapping->path, place.mapping->begin, 0);
    return Describe(place, pc);
  }

  uintptr_t FunctionStart(uintptr_t pc) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Place place = internal::IsUnloadedCode(pc) ? LocateUnloaded(pc) : Locate(pc);
    if (place.module == nullptr) return 0;
    const auto fde = place.module->FindFde(place.address);
    return !fde ? 0 : pc - (place.address - fde->begin);
  }

 private:
  // Where a pc is: in a mapping, and at an address of an ELF file (without load bias).
  struct Place {
    const Mapping* mapping = nullptr;
    ModuleSymbols* module = nullptr;
    uint64_t address = 0;
  };

  Place Locate(uintptr_t pc) {
    Place place;
    place.mapping = internal::FindMapping(mappings_, pc);
    if (place.mapping == nullptr) return place;
    ModuleSymbols* module = ModuleOf(*place.mapping);
    if (module == nullptr) return place;
    const auto address = module->AddressOfOffset(pc - place.mapping->begin + place.mapping->offset);
    if (!address) return place;
    place.module = module;
    place.address = *address;
    return place;
  }

  Place LocateUnloaded(uintptr_t pc) {
    Place place;
    const internal::UnloadedModule* gone = internal::FindUnloadedModule(pc, &place.address);
    if (gone == nullptr) return place;
    Unloaded& unloaded = unloaded_[gone];
    if (unloaded.mapping.path.empty()) {
      const uintptr_t bias = pc - place.address;
      unloaded = {{bias, bias, 0, gone->path}, LoadUnloaded(*gone)};
    }
    place.mapping = &unloaded.mapping;
    place.module = unloaded.module.get();
    return place;
  }

  // nullptr if the file has gone too, or is another one by now.
  static std::unique_ptr<ModuleSymbols> LoadUnloaded(const internal::UnloadedModule& gone) {
    auto file = internal::ElfFile::Open(gone.path);
    if (file == nullptr || !internal::IsStillThere(gone, file->BuildId())) return nullptr;
    return std::make_unique<ModuleSymbols>(std::move(file), gone.path);
  }

  ModuleSymbols* ModuleOf(const Mapping& mapping) {
    const auto [at, is_new] = modules_.try_emplace(mapping.path);
    if (is_new) at->second = LoadModule(mapping);
    return at->second.get();
  }

  static Symbol Unnamed(const std::string& module, uintptr_t start, uint64_t offset) {
    const std::string file = BaseName(module);
    return {file + "+" + Hex(offset), module, file + ": " + Hex(offset), start, false};
  }

  static Symbol Describe(const Place& place, uintptr_t pc) {
    const uintptr_t bias = pc - place.address;
    const std::string& path = place.mapping->path;
    const internal::FunctionSymbol* symbol = place.module->FindSymbol(place.address);
    uint64_t start = place.mapping->begin - bias;
    if (symbol != nullptr) {
      start = symbol->range.begin;
    } else if (const auto fde = place.module->FindFde(place.address)) {
      start = fde->begin;
    }
    Symbol result = Unnamed(path, start + bias, start);
    result.address = place.address;
    result.build_id = place.module->build_id();
    if (symbol != nullptr) {
      result.name = ReadableName(symbol->name);
      result.named = true;
    }
    if (const auto line = place.module->FindLine(start)) {
      result.position = line->file + ": " + std::to_string(line->line);
    }
    return result;
  }

  struct Unloaded {
    Mapping mapping;  // empty, at the addresses that stand for the file's
    std::unique_ptr<ModuleSymbols> module;
  };

  const std::vector<Mapping> mappings_;
  std::mutex mutex_;
  std::map<const internal::UnloadedModule*, Unloaded> unloaded_;
  std::map<std::string, std::unique_ptr<ModuleSymbols>> modules_;
};

std::unique_ptr<ProcessSymbols> ProcessSymbols::Load() {
  return std::unique_ptr<ProcessSymbols>(new ProcessSymbols(std::make_unique<Impl>()));
}

ProcessSymbols::ProcessSymbols(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessSymbols::~ProcessSymbols() = default;

Symbol ProcessSymbols::Resolve(uintptr_t pc) const {
  ManagedFunctionName managed;
  if (!FindManagedFunction(pc, &managed)) return impl_->Resolve(pc);
  FindManagedFunction(managed.function, &managed);  // of a line: where its function begins
  return {std::string(managed.name), "[managed]",
          std::string(managed.file) + ": " + std::to_string(managed.line), managed.address, true};
}

uintptr_t ProcessSymbols::FunctionStart(uintptr_t pc) const {
  ManagedFunctionName managed;
  return FindManagedFunction(pc, &managed) ? managed.function : impl_->FunctionStart(pc);
}

}  // namespace allomon
