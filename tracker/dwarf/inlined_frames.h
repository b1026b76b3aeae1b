// The functions and source lines of a code address, inlined calls included, by elfutils' libdw.
//
// The callbacks of the module's Dwfl decide which files libdw may search for.  Not thread safe for
// one Dwfl; allocates and reads files.  Never in a host's malloc or a signal handler.
#ifndef ALLOMON_TRACKER_DWARF_INLINED_FRAMES_H_
#define ALLOMON_TRACKER_DWARF_INLINED_FRAMES_H_

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "tracker/dwarf/code_units.h"

namespace allomon {

struct DwarfFrame {
  std::string symbol;  // mangled, as in the linker's table; empty if not known
  std::string file;    // the compiler's argument, "" if not known; then `line` is 0
  int line = 0;        // of the call, or of `pc` in the innermost frame
  int start_line = 0;  // where the function is declared; 0 if not known
  // The types that a function of Rust was made for, "<r::Order, alloc::alloc::Global>", if its
  // symbol leaves them out, as the older mangling does.  Else empty.
  std::string rust_types;
  int column = 0;  // of the same place as `line`; 0 if not known
  // The innermost frame's: the type of the object for which the call that returns to pc + 1 takes
  // memory, as clang 21 says it (DW_AT_LLVM_alloc_type).  Empty if it is not known.
  std::string new_type;
};

// Returns the frames at `pc`, innermost inlined call first; the last one, which always exists, is
// that of the function with this code.  A symbol without a size names only code that starts at it:
// the code around pc starts at `start`, 0 if that is not known.  Cost: the first query for a unit
// parses that unit.
std::vector<DwarfFrame> FramesAt(CodeUnits* units, Dwarf_Addr pc, Dwarf_Addr start);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_INLINED_FRAMES_H_
