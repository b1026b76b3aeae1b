// The functions and source lines of a code address of this process, inlined calls included.
//
// ProcessSymbols names the function that contains an address, and where the function begins.  A
// failed gate has to name the line of the call, and the functions that are inlined there: the call
// of operator new in `v.push_back(x)` lies on a line of the standard library.  elfutils' libdw
// reads this from the DWARF that -g1 already writes; files without DWARF give the symbol alone.
// Separate debug files are not looked for, since libdw may ask a server for them.
//
// Any thread; takes a lock, reads files, allocates.  Never in a signal handler.
#ifndef ALLOMON_TRACKER_GATES_SOURCE_FRAMES_H_
#define ALLOMON_TRACKER_GATES_SOURCE_FRAMES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace allomon::internal {

struct SourceFrame {
  std::string function;  // demangled; "[unknown]" without a symbol
  std::string file;      // "" if not known; then `line` is 0
  int line = 0;
};

// Returns the frames at `return_address` - 1, innermost inlined call first; at least one.  Cost:
// the first query for a file reads its symbols and the first DIE of each unit, and the first for a
// unit parses the unit.  Later ones look up a table of the addresses queried before.  The table is
// never emptied, so code that is unloaded and replaced keeps its old names.
const std::vector<SourceFrame>& FramesOfCall(uintptr_t return_address);

// Returns "function file:line", or the known parts of it.
std::string ToString(const SourceFrame& frame);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_GATES_SOURCE_FRAMES_H_
