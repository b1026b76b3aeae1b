// Frames and functions of stacks, as formats write them.
#ifndef ALLOMON_TOOLS_EXPORT_FRAMES_H_
#define ALLOMON_TOOLS_EXPORT_FRAMES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/named_stacks.h"

namespace allomon::interchange {

// ---- The functions of stacks: frames of one function may differ in the line of the call.

struct Functions {
  std::vector<uint32_t> of_frame;     // index of the function, by frame
  std::vector<uint32_t> first_frame;  // by function
};

Functions FunctionsOf(const Stacks& stacks);

// Tells whether a function is on the stack already, in time that does not depend on the depth.
class OnStack {
 public:
  explicit OnStack(size_t functions) : last_(functions, 0) {}

  void BeginStack() { ++stack_; }
  // False if the function was added to this stack before.
  bool Add(uint32_t function) {
    const bool is_new = last_[function] != stack_;
    last_[function] = stack_;
    return is_new;
  }

 private:
  std::vector<size_t> last_;  // by function: the number of the last stack that it was added to
  size_t stack_ = 0;
};

// Returns a frame as valgrind's tools write it: "0x401136: main (main.cc:3)", "0x0: f (in
// /lib/libc.so.6)".
std::string FrameText(const heap::HeapProfile& profile, const Frame& frame);

// ---- Makes names fit formats with one line for each name.

// Replaces control characters by blanks, and removes blanks at the ends.  Returns "(unnamed)" if
// nothing is left.
std::string OneLine(std::string_view name);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_FRAMES_H_
