#include "tracker/core/live_sums.h"

#include <algorithm>

#include "tracker/core/entries.h"
#include "tracker/core/pinned_session.h"

namespace allomon::internal {
namespace {

template <typename Live>
void SortMostBytesFirst(std::vector<Live>* sums) {
  const auto empty = [](const Live& sum) { return sum.sampled_blocks == 0; };
  sums->erase(std::remove_if(sums->begin(), sums->end(), empty), sums->end());
  std::stable_sort(sums->begin(), sums->end(), [](const Live& a, const Live& b) {
    return a.estimate.bytes.value > b.estimate.bytes.value;
  });
}

// By the ids of what `part_of` gives, with gaps at first.
template <typename Live, typename Part>
std::vector<Live> SumsBy(SessionId id, Part Live::*part, Part Allocation::*part_of) {
  std::vector<Live> sums;
  PinnedSession session(id);
  if (!session) return sums;
  ForEachLive(*session, [&](const Allocation& allocation) {
    const Part& key = allocation.*part_of;
    if (key.id() >= sums.size()) sums.resize(size_t{key.id()} + 1);
    Live& sum = sums[key.id()];
    sum.*part = key;
    ++sum.sampled_blocks;
    sum.estimate.Add(allocation);
  });
  SortMostBytesFirst(&sums);
  return sums;
}

}  // namespace

std::vector<LiveStack> LiveStacksOf(SessionId id) {
  return SumsBy(id, &LiveStack::callstack, &Allocation::callstack);
}

std::vector<LiveLabels> LiveLabelsOf(SessionId id) {
  return SumsBy(id, &LiveLabels::labels, &Allocation::labels);
}

}  // namespace allomon::internal
