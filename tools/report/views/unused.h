// Memory that was asked for and is not used, by the line that asked for it: bytes of blocks that
// were never written, rounding of sizes, and copies of containers that grow.
//
// Functions of the scene; nothing here fails.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_UNUSED_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_UNUSED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/heap/interval.h"
#include "tools/report/table/scene.h"

namespace allomon::views {

// Live blocks of one line, and the memory that size classes add to them.
struct RoundedSite {
  uint32_t frame = 0;       // index in Stacks::frames
  heap::Estimate asked;     // of the program
  heap::Estimate rounding;  // the bytes beside them
  uint64_t size_bytes = 0;  // of the blocks that a smaller size would help most; 0: of none
  uint64_t smaller_bytes = 0;
  heap::Estimate saving;  // with that smaller size
};

struct Rounding {
  std::vector<RoundedSite> sites;  // those with any rounding, the most of it first
  heap::Estimate asked;
  heap::Estimate rounding;
  bool has_sizes = false;    // of any live block, counted or left out
  double unknown_bytes = 0;  // live bytes of malloc whose size or allocator is not known
};

// Counts the exact sizes of live blocks of malloc.
Rounding RoundingOf(const Scene& scene);

// Live blocks of one line of a process that runs, and the bytes of them that were never used.
struct UnusedSite {
  uint32_t frame = 0;  // index in Stacks::frames
  heap::Estimate unused;
  heap::Estimate asked;
  double untouched_bytes = 0;  // of `unused`, in pages that were never touched
  double zero_bytes = 0;       // of `unused`, zero at the ends of blocks
};

struct UnusedSum {
  std::vector<UnusedSite> sites;  // those with any such bytes, the most of them first
  heap::Estimate unused;
  heap::Estimate asked;
};

// The sum of UseCells.
UnusedSum UnusedOf(const Scene& scene);

// A buffer of one line that was replaced by larger ones again and again.
struct GrownSite {
  uint32_t frame = 0;
  std::string holder;         // "std::vector<Order>"; empty: not known
  bool is_named = false;      // true if a function on the stack makes a container grow
  heap::Estimate copied;      // outgrown blocks, whose contents were copied to the next ones
  std::vector<double> sizes;  // mean bytes of each size, the smallest first
  double largest_blocks = 0;  // estimated number of blocks of the largest size
};

// Counts all allocations.  A site has three sizes or more, each 1.4 to 2.3 times the one before.
// If no function's name tells that a container grows, they are four or more, no other size is
// there, and none has more than twice the blocks of the size before.
std::vector<GrownSite> GrowthBySizes(const Scene& scene);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_UNUSED_H_
