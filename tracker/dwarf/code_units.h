// The compilation units of a module, and the functions of the queried units, by their addresses.
// For many queries about one module: each unit is read only once.
//
// libdw's own search knows only units that are listed in .debug_aranges, which clang does not
// write, and finds nothing in split debug files.
#ifndef ALLOMON_TRACKER_DWARF_CODE_UNITS_H_
#define ALLOMON_TRACKER_DWARF_CODE_UNITS_H_

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracker/dwarf/live_lines.h"
#include "tracker/dwarf/split_package.h"

namespace allomon {

// ---- Names of functions that the linker does not know: functions of a single unit that were
// inlined.

// The names in one debug file.  Not thread safe.  Memory: grows with each name queried.
class QualifiedNames {
 public:
  // Returns for example "shop::(anonymous namespace)::Inner": the names of the namespaces and types
  // around its declaration, then the function's name; in C only the latter.  Empty if it has no
  // name.  Cost: reads past the neighbouring DIEs, once for each function.
  std::string Of(Dwarf_Die* function);

 private:
  std::unordered_map<const void*, std::string> name_of_;  // by the declaration's address in memory
};

// ---- The symbols of a module by their addresses: libdwfl's own search reads the whole table each
// time.

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

// Compilers write a unit in one place, or split it: the lines stay in the program, and the
// functions are in a .dwo file, or with those of all units in a .dwp file.
struct CodeUnit {
  Dwarf_Die lines;
  Dwarf_Die functions;
  const LiveLines* live_lines = nullptr;  // where libdw's own search would confuse rows
};

// Memory: 24 bytes for each range of a unit, 48 for each function of a queried unit, and libdw's
// own.  Not thread safe.
class CodeUnits {
 public:
  // The module must outlive it.  Cost: the first DIE of each unit.
  explicit CodeUnits(Dwfl_Module* module);

  // Add this to an address of the debug file to get one of the module's session.
  Dwarf_Addr bias() const { return bias_; }

  // Finds the unit of an address of the debug file. nullptr if no unit has code there.  Valid until
  // the next call.
  const CodeUnit* At(Dwarf_Addr pc);

  // Returns the scopes around pc in the unit that At() has found for it, innermost first.
  std::vector<Dwarf_Die> ScopesAround(Dwarf_Addr pc);

  QualifiedNames& names() { return names_; }
  const SymbolIndex& symbols() const { return symbols_; }

 private:
  struct Range {
    Dwarf_Addr begin;
    Dwarf_Addr end;
    size_t unit;
  };
  struct Function {
    Dwarf_Addr begin;
    Dwarf_Addr end;
    Dwarf_Die die;
  };
  struct Unit {
    Dwarf_Die lines;
    CodeUnit whole;
    std::unique_ptr<const LiveLines> live_lines;
    bool is_read = false;
    std::vector<Function> functions;
  };

  void AddUnit(Dwarf_Die* die);
  void AskPackages(CodeUnit* unit);
  Unit* Find(Dwarf_Addr pc);
  void ReadFunctions(Dwarf_Die* parent, std::vector<Function>* functions) const;

  Dwarf_Addr bias_ = 0;
  // An address of the debug file: rows below are of code that the linker has dropped.
  Dwarf_Addr code_begin_ = 0;
  std::vector<Unit> units_;
  std::vector<Range> ranges_;          // by `begin`
  std::vector<std::string> packages_;  // paths that were not tried yet
  std::unique_ptr<SplitPackage> package_;
  QualifiedNames names_;
  const SymbolIndex symbols_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_CODE_UNITS_H_
