// The symbols of a module by their addresses: libdwfl's own search reads the whole table each time.
#ifndef ALLOMON_TRACKER_DWARF_SYMBOL_INDEX_H_
#define ALLOMON_TRACKER_DWARF_SYMBOL_INDEX_H_

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <string>
#include <vector>

namespace allomon {

// Immutable.  Memory: 32 bytes for each symbol.
class SymbolIndex {
 public:
  // The module must outlive it.
  explicit SymbolIndex(Dwfl_Module* module);

  // Returns the linker's name of the code at pc; empty if there is no symbol.  A symbol without a
  // size counts only at `start`, where the code around pc begins.  Of several symbols the innermost
  // is taken; of those at one address, the one that other files see.
  std::string At(Dwarf_Addr pc, Dwarf_Addr start) const;

 private:
  struct Symbol {
    Dwarf_Addr begin;
    uint64_t bytes;
    const char* name;  // libdwfl's
    int rank;          // the least is taken
  };
  static bool IsBefore(const Symbol& a, const Symbol& b);
  void Add(const char* name, const GElf_Sym& symbol);

  std::vector<Symbol> symbols_;  // sorted
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_SYMBOL_INDEX_H_
