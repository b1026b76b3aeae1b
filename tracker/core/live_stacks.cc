#include "tracker/core/live_stacks.h"

#include <algorithm>

#include "tracker/core/entries.h"
#include "tracker/core/pinned_session.h"

namespace allomon::internal {
namespace {

void SortLiveStacks(std::vector<LiveStack>* stacks) {
  const auto empty = [](const LiveStack& stack) { return stack.sampled_blocks == 0; };
  stacks->erase(std::remove_if(stacks->begin(), stacks->end(), empty), stacks->end());
  std::stable_sort(stacks->begin(), stacks->end(), [](const LiveStack& a, const LiveStack& b) {
    return a.estimate.bytes.value > b.estimate.bytes.value;
  });
}

}  // namespace

std::vector<LiveStack> LiveStacksOf(SessionId id) {
  PinnedSession session(id);
  if (!session) return {};
  std::vector<LiveStack> by_stack;  // by stack id, with gaps
  ForEachLive(*session, [&by_stack](const Allocation& allocation) {
    const size_t stack = allocation.callstack.id();
    if (stack >= by_stack.size()) by_stack.resize(stack + 1);
    by_stack[stack].callstack = allocation.callstack;
    ++by_stack[stack].sampled_blocks;
    by_stack[stack].estimate.Add(allocation);
  });
  SortLiveStacks(&by_stack);
  return by_stack;
}

}  // namespace allomon::internal
