// The functions of stacks: frames that differ in the line of a call alone are of one.
#ifndef ALLOMON_TOOLS_EXPORT_FUNCTIONS_H_
#define ALLOMON_TOOLS_EXPORT_FUNCTIONS_H_

#include <cstdint>
#include <vector>

#include "tools/heap/named_stacks.h"

namespace allomon::interchange {

struct Functions {
  std::vector<uint32_t> of_frame;     // numbers from 0, by frame
  std::vector<uint32_t> first_frame;  // by function
};

Functions FunctionsOf(const Stacks& stacks);

// Tells what is on the stack already, in time that does not depend on its depth.
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
  std::vector<size_t> last_;  // the number of the stack that it was last added to, by function
  size_t stack_ = 0;
};

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_FUNCTIONS_H_
