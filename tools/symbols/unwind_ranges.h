#ifndef ALLOMON_TOOLS_SYMBOLS_UNWIND_RANGES_H_
#define ALLOMON_TOOLS_SYMBOLS_UNWIND_RANGES_H_

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

namespace allomon {

// The address range of code that unwinds as one piece: a function, or a part of one.
struct UnwindRange {
  uint64_t begin = 0;  // address in the file, without load bias
  uint64_t end = 0;
};

// Returns the ranges in .eh_frame (Linux Standard Base, "Exception Frames"), in its order.  A
// stripped file still has them.  Leaves out entries in an encoding that linkers do not write.
std::vector<UnwindRange> UnwindRangesOf(Dwfl_Module* module);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_SYMBOLS_UNWIND_RANGES_H_
