#ifndef ALLOMON_TOOLS_EXPORT_FRAME_TEXT_H_
#define ALLOMON_TOOLS_EXPORT_FRAME_TEXT_H_

#include <string>

#include "tools/heap/named_stacks.h"

namespace allomon::interchange {

// Returns a frame as valgrind's tools write it: "0x401136: main (main.cc:3)", "0x0: f (in
// /lib/libc.so.6)".
std::string FrameText(const heap::HeapProfile& profile, const Frame& frame);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_FRAME_TEXT_H_
