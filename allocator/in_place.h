// In-place samples: followed blocks that stay ordinary blocks of the backend, on the pages where
// the program would have them without sampling.  What such a page holds otherwise tells how full
// the program's pages are, which blocks of the sampled range cannot tell.
//
// The backend's page leads each free of its blocks off the fast path as long as it has a live
// block, so the other blocks of such pages pay, too: "In-place samples" in allocator/README.md has
// the costs.
//
//   allomon::KeepSamplesInPlace(16);
#ifndef ALLOMON_ALLOCATOR_IN_PLACE_H_
#define ALLOMON_ALLOCATOR_IN_PLACE_H_

#include <atomic>
#include <cstdint>
#include <optional>

namespace allomon {

// From now on one of `one_in` followed blocks stays in place, on average; 0, the default, keeps
// none.  A seed fixes which ones stay, in the order in which all threads sample; without one it is
// unpredictable.  Which blocks are sampled does not depend on it.  Blocks that are in place remain
// so.  Returns false if the backend of this build cannot follow blocks in place: only mimalloc
// 2.0.9 and 3.0.1 can, with their inline paths.  Thread safe; not inside callbacks.
bool KeepSamplesInPlace(uint32_t one_in, std::optional<uint64_t> seed = std::nullopt);

struct InPlaceStatistics {
  uint64_t chosen = 0;  // followed blocks that the coin has chosen
  uint64_t placed = 0;  // of these; the others were too large, or the table had no room
};
InPlaceStatistics ReadInPlaceStatistics();

namespace internal {

extern std::atomic<uint32_t> in_place_one_in;  // 0: none

bool DrawInPlaceSlow(uint32_t one_in);

// Throws the coin of a followed block.  Costs three instructions where no block stays in place.
inline bool DrawInPlace() {
  const uint32_t one_in = in_place_one_in.load(std::memory_order_relaxed);
  return __builtin_expect(one_in != 0, 0) && DrawInPlaceSlow(one_in);
}
void CountInPlace();
// Counts a second free, with those of the sampled range (sampled_block.cc).
void CountDoubleFree();

}  // namespace internal
}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_IN_PLACE_H_
