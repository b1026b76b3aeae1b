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
#include <memory>
#include <string>
#include <vector>

#include "tracker/dwarf/qualified_name.h"
#include "tracker/dwarf/split_package.h"
#include "tracker/dwarf/symbol_index.h"

namespace allomon {

// Compilers write a unit in one place, or split it: the lines stay in the program, and the
// functions are in a .dwo file, or with those of all units in a .dwp file.
struct CodeUnit {
  Dwarf_Die lines;
  Dwarf_Die functions;
};

// The unit of a DIE that has the lines.
CodeUnit WholeUnitOf(Dwarf_Die lines);

// The physical nesting around pc below `parent`, innermost first.
std::vector<Dwarf_Die> ScopesBelow(Dwarf_Die* parent, Dwarf_Addr pc);

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
    bool is_read = false;
    std::vector<Function> functions;
  };

  void AddUnit(Dwarf_Die* die);
  void AskPackages(CodeUnit* unit);
  Unit* Find(Dwarf_Addr pc);
  static void ReadFunctions(Dwarf_Die* parent, std::vector<Function>* functions);

  Dwarf_Addr bias_ = 0;
  std::vector<Unit> units_;
  std::vector<Range> ranges_;          // by `begin`
  std::vector<std::string> packages_;  // paths that were not tried yet
  std::unique_ptr<SplitPackage> package_;
  QualifiedNames names_;
  const SymbolIndex symbols_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_CODE_UNITS_H_
