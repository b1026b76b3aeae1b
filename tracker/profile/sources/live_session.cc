#include "tracker/profile/sources/live_session.h"

#include <memory>

#include "tracker/core/entries.h"
#include "tracker/core/object_bytes.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/stack_table.h"
#include "tracker/core/thread_state.h"
#include "tracker/core/valueless_client.h"
#include "tracker/estimate.h"

namespace allomon::internal {
namespace {

// Follows every sampled block.
class LiveClient final : public ValuelessClient {
 public:
  bool AllocMinor(const Allocation&, ValueRoom*) override { return true; }
  bool AllocMajor(const Allocation&, ValueRoom*) override { return true; }
  bool Promote(ValueRoom*) override { return true; }
};

void Add(const Allocation& allocation, LiveHeap* heap) {
  Estimate bytes;
  bytes.Add(static_cast<double>(ObjectBytes(allocation.size_bytes, allocation.source)),
            ReportProbability(TrialWords(allocation), allocation.rate));
  const size_t stack = allocation.callstack.id();
  const bool is_known = stack < heap->bytes_by_stack.size();
  heap->bytes_by_stack[is_known ? stack : 0] += bytes.value;
  heap->variance += bytes.variance;
}

}  // namespace

StartResult StartLiveSession(double rate, uint64_t seed, uint32_t frames) {
  Session::Config config;
  config.kind = SessionKind::kProfile;
  config.rate = rate;
  config.seed = seed;
  config.callstack_size = frames;
  config.concurrent = true;
  std::unique_ptr<SessionClient> client = std::make_unique<LiveClient>();
  return StartSession(config, client);
}

LiveHeap LiveHeapOf(SessionId id) {
  LiveHeap heap;
  // Allocated before the session is pinned, because a caller that runs out of memory here may leave
  // without destructors.
  heap.bytes_by_stack.resize(size_t{Stacks().size()} + 1);
  PinnedSession session(id, SessionKind::kProfile);
  if (!session) return heap;
  ForEachLive(*session, [&heap](const Allocation& allocation) { Add(allocation, &heap); });
  heap.dropped_bytes = Registry::Get().TotalsOf(*session).dropped_bytes;
  return heap;
}

}  // namespace allomon::internal
