// The lines of a unit without those of functions that the linker has dropped.
//
// The linker drops functions that nobody calls (--gc-sections), and leaves their lines, from
// address 0 on.  A function longer than what precedes the program's code so has lines among those
// of other functions, and libdw sorts all rows by their addresses.
#ifndef ALLOMON_TRACKER_DWARF_LIVE_LINES_H_
#define ALLOMON_TRACKER_DWARF_LIVE_LINES_H_

#include <elfutils/libdw.h>

#include <vector>

namespace allomon {

// Immutable.  Memory: a pointer for each row.
class LiveLines {
 public:
  // Whether the unit has rows below `code_begin`, the lowest address of code.
  static bool AreNeeded(Dwarf_Die* unit, Dwarf_Addr code_begin);

  // Cost: runs the unit's line program, and sorts its rows.
  LiveLines(Dwarf_Die* unit, Dwarf_Addr code_begin);

  // Returns the row of pc; null if no row has it.
  Dwarf_Line* At(Dwarf_Addr pc) const;

 private:
  std::vector<Dwarf_Line*> rows_;  // by address
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_LIVE_LINES_H_
