// The functions and source lines of a code address, inlined calls included, by elfutils' libdw.
//
// Whoever asks decides which files libdw may look for, by the callbacks of the Dwfl that the module
// belongs to.  Not thread safe for one Dwfl; allocates and reads files.  Never in a host's malloc
// or a signal handler.
#ifndef ALLOMON_TRACKER_DWARF_INLINED_FRAMES_H_
#define ALLOMON_TRACKER_DWARF_INLINED_FRAMES_H_

#include <elfutils/libdwfl.h>

#include <string>
#include <vector>

#include "tracker/dwarf/code_units.h"

namespace allomon {

struct DwarfFrame {
  std::string symbol;  // as the linker has it, mangled; empty if not known
  std::string file;    // as the compiler was given it, "" if not known; then `line` is 0
  int line = 0;        // of the call, or of `pc` in the innermost frame
  int start_line = 0;  // where the function is declared; 0 if not known
};

// The frames at `pc`, innermost inlined call first; the last one is of the function whose code it
// is, and there is at least that one.  A symbol without a size names only what starts with it: the
// code around pc does at `start`, 0 if that is not known.  Cost: the first question about a module
// reads its index of compilation units, the first about a unit parses that unit.
std::vector<DwarfFrame> FramesAt(Dwfl_Module* module, Dwarf_Addr pc, Dwarf_Addr start = 0);

// The same, for many questions about the module of `units`.
std::vector<DwarfFrame> FramesAt(CodeUnits* units, Dwarf_Addr pc, Dwarf_Addr start);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_INLINED_FRAMES_H_
