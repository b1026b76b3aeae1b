#include "tracker/core/live_sums.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tracker/core/entries.h"
#include "tracker/core/pinned_session.h"

namespace allomon::internal {
namespace {

// Sorts in place, since std::stable_sort() takes a buffer as large as the sums.
template <typename Live, typename Part>
void SortMostBytesFirst(Part Live::*part, std::vector<Live>* sums) {
  const auto empty = [](const Live& sum) { return sum.sampled_blocks == 0; };
  sums->erase(std::remove_if(sums->begin(), sums->end(), empty), sums->end());
  std::sort(sums->begin(), sums->end(), [part](const Live& a, const Live& b) {
    if (a.estimate.bytes.value != b.estimate.bytes.value) {
      return a.estimate.bytes.value > b.estimate.bytes.value;
    }
    return (a.*part).id() < (b.*part).id();
  });
}

// Sums by the id of `part_of`. The sums have gaps until they are sorted.
template <typename Live, typename Part>
std::vector<Live> SumsBy(SessionId id, Part Live::*part, Part Allocation::*part_of) {
  std::vector<Live> sums;
  PinnedSession session(id, SessionKind::kTracker);
  if (!session) return sums;
  ForEachLive(*session, [&](const Allocation& allocation) {
    const Part& key = allocation.*part_of;
    if (key.id() >= sums.size()) sums.resize(size_t{key.id()} + 1);
    Live& sum = sums[key.id()];
    sum.*part = key;
    ++sum.sampled_blocks;
    sum.estimate.Add(allocation);
  });
  SortMostBytesFirst(part, &sums);
  return sums;
}

}  // namespace

std::vector<LiveStack> LiveStacksOf(SessionId id) {
  return SumsBy(id, &LiveStack::callstack, &Allocation::callstack);
}

std::vector<LiveLabels> LiveLabelsOf(SessionId id) {
  return SumsBy(id, &LiveLabels::labels, &Allocation::labels);
}

std::vector<LiveTypeStack> LiveTypesOf(SessionId id) {
  std::map<std::pair<const char*, uint32_t>, LiveTypeStack> sums;
  std::vector<LiveTypeStack> result;
  PinnedSession session(id, SessionKind::kTracker);
  if (!session) return result;
  ForEachLive(*session, [&sums](const Allocation& allocation) {
    LiveTypeStack& sum = sums[{allocation.type_name, allocation.callstack.id()}];
    sum.type_name = allocation.type_name;
    sum.callstack = allocation.callstack;
    ++sum.sampled_blocks;
    sum.estimate.Add(allocation);
  });
  for (const auto& [key, sum] : sums) result.push_back(sum);
  SortMostBytesFirst(&LiveTypeStack::callstack, &result);
  return result;
}

}  // namespace allomon::internal
