#ifndef ALLOMON_TOOLS_SYMBOLS_UNWIND_RANGES_H_
#define ALLOMON_TOOLS_SYMBOLS_UNWIND_RANGES_H_

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

namespace allomon {

// The extent of a piece of code that unwinds as one: a function, or a part of one.
struct UnwindRange {
  uint64_t begin = 0;  // in the file, without load bias
  uint64_t end = 0;
};

// Those in .eh_frame (Linux Standard Base, "Exception Frames"), in its order: what a stripped file
// still says about its functions.  Entries in an encoding that linkers do not write are left out.
std::vector<UnwindRange> UnwindRangesOf(Dwfl_Module* module);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_UNWIND_RANGES_H_
