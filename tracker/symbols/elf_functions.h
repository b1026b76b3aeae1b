// The functions in the symbol tables of an ELF file.
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

// Calls visit(symbol) for each function in the bytes of a symbol table, in their order.  The
// names are not read, which makes this several times cheaper than ForEachFunction().
template <typename Visit>
void ForEachUnnamedFunction(ByteReader reader, Visit visit) {
  while (reader.remaining() >= sizeof(Elf64_Sym)) {
    const auto symbol = reader.Read<Elf64_Sym>();
    if (IsFunction(symbol)) visit(symbol);
  }
}

// Calls visit(symbol, name); see ForEachFunction().
template <typename Visit>
void ForEachFunctionIn(ByteReader symbols, ByteReader strings, Visit visit) {
  ForEachUnnamedFunction(symbols, [&](const Elf64_Sym& symbol) {
    if (symbol.st_value + symbol.st_size < symbol.st_value) return;
    const std::string_view name = strings.StringAt(symbol.st_name);
    if (!name.empty() && name[0] != '@') visit(symbol, name.substr(0, name.find('@')));
  });
}

inline bool IsSymbolTable(const ElfSection& section) {
  return section.type == SHT_SYMTAB || section.type == SHT_DYNSYM;
}

// The number of symbols in the symbol tables: at least the number of functions.
inline size_t SymbolsIn(const ElfFile& file) {
  size_t count = 0;
  for (size_t i = 0; i < file.section_count(); ++i) {
    const ElfSection section = file.Section(i);
    if (IsSymbolTable(section)) count += section.data.remaining() / sizeof(Elf64_Sym);
  }
  return count;
}

// Calls visit(symbol, name) for each function of .symtab and .dynsym, in the order of the file.
// The name has no version, and is valid as long as the file.  A function without a name, or whose
// extent wraps around the address space, is left out.
template <typename Visit>
void ForEachFunction(const ElfFile& file, Visit visit) {
  for (size_t i = 0; i < file.section_count(); ++i) {
    const ElfSection section = file.Section(i);
    if (!IsSymbolTable(section) || section.link >= file.section_count()) continue;
    ForEachFunctionIn(section.data, file.Section(section.link).data, visit);
  }
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SYMBOLS_ELF_FUNCTIONS_H_
