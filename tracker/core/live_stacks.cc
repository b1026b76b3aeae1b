#include "tracker/core/live_stacks.h"

#include <algorithm>
#include <utility>

#include "tracker/core/entries.h"
#include "tracker/core/pinned_session.h"

namespace allomon::internal {
namespace {

template <typename Live>
std::vector<Live> MostBytesFirst(std::vector<Live> sums) {
  const auto empty = [](const Live& sum) { return sum.sampled_blocks == 0; };
  sums.erase(std::remove_if(sums.begin(), sums.end(), empty), sums.end());
  std::stable_sort(sums.begin(), sums.end(), [](const Live& a, const Live& b) {
    return a.estimate.bytes.value > b.estimate.bytes.value;
  });
  return sums;
}

// The sum at an id, in a vector with gaps that grows to it.
template <typename Live>
Live& AddTo(uint32_t id, const Allocation& allocation, std::vector<Live>* sums) {
  if (id >= sums->size()) sums->resize(size_t{id} + 1);
  Live& sum = (*sums)[id];
  ++sum.sampled_blocks;
  sum.estimate.Add(allocation);
  return sum;
}

}  // namespace

std::vector<LiveStack> LiveStacksOf(SessionId id) {
  PinnedSession session(id);
  if (!session) return {};
  std::vector<LiveStack> stacks;
  ForEachLive(*session, [&stacks](const Allocation& allocation) {
    AddTo(allocation.callstack.id(), allocation, &stacks).callstack = allocation.callstack;
  });
  return MostBytesFirst(std::move(stacks));
}

std::vector<LiveLabels> LiveLabelsOf(SessionId id) {
  PinnedSession session(id);
  if (!session) return {};
  std::vector<LiveLabels> labels;
  ForEachLive(*session, [&labels](const Allocation& allocation) {
    AddTo(allocation.labels.id(), allocation, &labels).labels = allocation.labels;
  });
  return MostBytesFirst(std::move(labels));
}

}  // namespace allomon::internal
