// Stacks of named frames with integer numbers of blocks and bytes.  Most exports are made from
// them.
//
// Plain values and functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_NAMED_STACKS_H_
#define ALLOMON_TOOLS_HEAP_NAMED_STACKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

struct Frame {
  std::string name;         // in the form for people; never empty
  std::string file;         // source file; empty: not known
  uint32_t start_line = 0;  // of the function; 0: not known
  uint32_t line = 0;        // of the call, with Detail::kLines; 0: not known
  uint32_t mapping = heap::kNone;
  uint64_t address = 0;  // of one of its calls; 0: not known
};

struct Counts {
  int64_t blocks = 0;
  int64_t bytes = 0;

  void Add(const Counts& other);  // stops at INT64_MAX instead of overflowing
};
using AllCounts = std::array<Counts, heap::kMetrics>;  // by heap::Metric

struct Stack {
  std::vector<uint32_t> frames;  // indices in Stacks::frames, outermost first; at least one
  AllCounts counts;

  const Counts& operator[](heap::Metric metric) const {
    return counts[static_cast<size_t>(metric)];
  }
};

struct Stacks {
  std::vector<Frame> frames;
  std::vector<Stack> stacks;  // no two have the same frames
  AllCounts totals;           // the sums over `stacks`
  std::vector<size_t> stack_of_sample;

  const Counts& Total(heap::Metric metric) const { return totals[static_cast<size_t>(metric)]; }
};

// With kFunctions, calls from different lines of a function are one frame.
enum class Detail { kFunctions, kLines };

// Merges the samples of each stack, whatever their size, thread and labels.  A sample without a
// stack has the frame kNoStack.  A location without a name gets one from its file and address.
Stacks StacksOf(const heap::HeapProfile& profile, Detail detail);
inline constexpr char kNoStack[] = "(no stack)";

// Returns the name that people see for an unnamed location: "libc.so.6+0x1234", or its address.
std::string UnnamedLocation(const heap::HeapProfile& profile, const heap::Location& location);

// Rounds amounts to integers, each within 1 of its amount, so that their sum is the rounded sum of
// the amounts.  Negative amounts and NaN count as 0.
class Rounding {
 public:
  int64_t Round(double amount);

 private:
  double sum_ = 0;
  int64_t given_ = 0;
};

class CountsRounding {
 public:
  Counts Round(const heap::Amount& amount) {
    return {blocks_.Round(amount.blocks), bytes_.Round(amount.bytes)};
  }

 private:
  Rounding blocks_;
  Rounding bytes_;
};

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_HEAP_NAMED_STACKS_H_
