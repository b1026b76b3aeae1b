#include "tools/leaks/data_names.h"

#include <algorithm>
#include <utility>

#include "tools/process/places.h"
#include "tracker/names/base_name.h"

namespace allomon::leaks {
namespace {

using explain::Mapping;

bool IsOfFile(const Mapping& mapping) {
  return mapping.inode != 0 && !mapping.is_shared && !mapping.name.empty() &&
         mapping.name[0] == '/';
}

}  // namespace

const Mapping* DataNames::MappingOf(uint64_t address) const {
  const auto after =
      std::upper_bound(mappings_.begin(), mappings_.end(), address,
                       [](uint64_t at, const Mapping& mapping) { return at < mapping.begin; });
  if (after == mappings_.begin() || address >= (after - 1)->end) return nullptr;
  return &*(after - 1);
}

// Data without content in the file follows it as an anonymous mapping.
DataNames::Object DataNames::At(uint64_t address) {
  const Mapping* mapping = MappingOf(address);
  Object object;
  if (mapping == nullptr) return object;
  const bool may_follow = mapping->name.empty() && mapping != mappings_.data();
  const bool follows = may_follow && (mapping - 1)->end == mapping->begin;
  if (follows) --mapping;
  if (!IsOfFile(*mapping)) return object;
  const Module& module = ModuleOf(*mapping);
  const uint64_t in_file = address - module.bias;
  const auto after =
      std::upper_bound(module.symbols.begin(), module.symbols.end(), in_file,
                       [](uint64_t at, const CodeSymbol& symbol) { return at < symbol.begin; });
  const bool is_named = after != module.symbols.begin() && in_file < (after - 1)->end;
  if (is_named) {
    object.symbol = (after - 1)->symbol;
    object.offset_bytes = in_file - (after - 1)->begin;
  }
  // An anonymous mapping after a module may be anything.
  if (is_named || !follows) object.module = BaseName(mapping->name);
  return object;
}

std::string DataNames::TypeOf(uint64_t first_word) {
  // A pointer to a table of virtual functions leads past two words: the offset to the whole object,
  // and the type (Itanium C++ ABI, 2.5.2).
  constexpr uint64_t kPast = 16;
  constexpr char kTable[] = "_ZTV";
  const Object object = At(first_word);
  if (object.symbol.rfind(kTable, 0) != 0 || object.offset_bytes != kPast) return "";
  // The name of the type is mangled in the table's as in that of its type information's name.
  constexpr char kPrefix[] = "vtable for ";
  const std::string name = Demangled(object.symbol);
  return name.rfind(kPrefix, 0) == 0 ? name.substr(sizeof(kPrefix) - 1) : "";
}

const DataNames::Module& DataNames::ModuleOf(const Mapping& mapping) {
  const auto [place, is_new] = modules_.try_emplace(mapping.name);
  if (is_new) place->second = Read(mapping);
  return place->second;
}

std::unique_ptr<CodeFile> DataNames::Open(const Mapping& mapping) const {
  process::MappedPaths paths = process::PathsOfMapped(process_.pid(), mapping.begin, mapping.name);
  paths.by_name.push_back(paths.by_address);
  for (const std::string& path : paths.by_name) {
    auto file = CodeFile::Open(path, debug_dir_);
    if (file != nullptr && file->identity().inode == mapping.inode) return file;
  }
  return nullptr;
}

DataNames::Module DataNames::Read(const Mapping& mapping) const {
  Module module;
  const auto file = Open(mapping);
  if (file == nullptr) return module;
  LoadedSegment segment;
  if (!CodeSegment(file->Segments(), &segment)) return module;
  const uint64_t offset = segment.file_offset;
  for (const Mapping& code : mappings_) {
    if (!code.is_executable || code.name != mapping.name) continue;
    if (offset < code.offset_bytes || offset - code.offset_bytes >= code.end - code.begin) continue;
    module.bias = code.begin + (offset - code.offset_bytes) - segment.address;
    module.symbols = file->DataSymbols();
  }
  return module;
}

}  // namespace allomon::leaks
