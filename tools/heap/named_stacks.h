// Stacks of named frames with whole numbers of blocks and bytes: what most exports are made from.
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
  std::string name;         // as people read it; never empty
  std::string file;         // of the source; empty: not known
  uint32_t start_line = 0;  // of the function; 0: not known
  uint32_t line = 0;        // of the call, with Detail::kLines; 0: not known
  uint32_t mapping = heap::kNone;
  uint64_t address = 0;  // of one of its calls; 0: not known
};

struct Counts {
  int64_t blocks = 0;
  int64_t bytes = 0;

  void Add(const Counts& other);  // stays at INT64_MAX instead of overflowing
};
using AllCounts = std::array<Counts, heap::kMetrics>;  // by heap::Metric

struct Stack {
  std::vector<uint32_t> frames;  // of Stacks::frames, outermost first; at least one
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

// kFunctions: calls from different lines of a function are one frame.
enum class Detail { kFunctions, kLines };

// Samples of one stack become one, whatever their size, thread and labels.  A sample without a
// stack has the frame kNoStack; a location without a name, one by its file and address.
Stacks StacksOf(const heap::HeapProfile& profile, Detail detail);
inline constexpr char kNoStack[] = "(no stack)";

// What people call a location without a name: "libc.so.6+0x1234", or its address.
std::string UnnamedLocation(const heap::HeapProfile& profile, const heap::Location& location);

// Makes whole numbers of amounts, each within 1 of it, so that their sum is the amounts' sum,
// rounded.  Amounts below 0, and what is no number, count 0.
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
