// The functions that the symbol tables of an ELF file name.
#ifndef ALLOMON_TRACKER_SYMBOLS_ELF_FUNCTIONS_H_
#define ALLOMON_TRACKER_SYMBOLS_ELF_FUNCTIONS_H_

#include <elf.h>

#include <string_view>

#include "tracker/base/byte_reader.h"
#include "tracker/symbols/elf_file.h"

namespace allomon::internal {

inline bool IsFunction(const Elf64_Sym& symbol) {
  const auto type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_value != 0;
}

template <typename Visit>
void ForEachFunctionOf(const ElfFile& file, const ElfSection& symbols, Visit visit) {
  if (symbols.link >= file.sections().size()) return;
  const ByteReader strings = file.sections()[symbols.link].data;
  ByteReader reader = symbols.data;
  while (reader.remaining() >= sizeof(Elf64_Sym)) {
    const auto symbol = reader.Read<Elf64_Sym>();
    if (!IsFunction(symbol) || symbol.st_value + symbol.st_size < symbol.st_value) continue;
    const std::string_view name = strings.StringAt(symbol.st_name);
    if (!name.empty() && name[0] != '@') visit(symbol, name.substr(0, name.find('@')));
  }
}

inline bool IsSymbolTable(const ElfSection& section) {
  return section.type == SHT_SYMTAB || section.type == SHT_DYNSYM;
}

// As many functions or more.
inline size_t SymbolsIn(const ElfFile& file) {
  size_t count = 0;
  for (const ElfSection& section : file.sections()) {
    if (IsSymbolTable(section)) count += section.data.remaining() / sizeof(Elf64_Sym);
  }
  return count;
}

// Calls visit(symbol, name) for each, .symtab's and .dynsym's, in the order of the file; names
// without version, and valid as long as the file.  Those whose extents wrap are left out.
template <typename Visit>
void ForEachFunction(const ElfFile& file, Visit visit) {
  for (const ElfSection& section : file.sections()) {
    if (IsSymbolTable(section)) ForEachFunctionOf(file, section, visit);
  }
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_ELF_FUNCTIONS_H_
