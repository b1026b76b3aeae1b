#include "allomon/trackers.h"

#include <memory>
#include <new>
#include <vector>

#include "tracker/base/check.h"
#include "tracker/c/callback_client.h"
#include "tracker/c/structures.h"
#include "tracker/c/to_status.h"
#include "tracker/core/control.h"
#include "tracker/core/live_sums.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/registry.h"

namespace {

using allomon::LiveLabels;
using allomon::LiveStack;
using allomon::c::CallbackClient;
using allomon::c::CopyIn;
using allomon::c::CopyOut;
using allomon::c::ToStatus;
using allomon::internal::Session;
using allomon::internal::SessionId;
using allomon::internal::SessionKind;

// Sizes of the structures' first versions (0.2.0).
constexpr size_t kFirstOptionsBytes = sizeof(allomon_tracker_options);
constexpr size_t kFirstCallbacksBytes = sizeof(allomon_callbacks);
constexpr size_t kFirstCountsBytes = sizeof(allomon_tracker_counts);

Session::Config ToConfig(const allomon_tracker_options& options) {
  Session::Config config;
  config.kind = SessionKind::kTracker;
  config.rate = options.rate;
  config.seed = options.has_seed != 0 ? options.seed : allomon::internal::RandomSeed();
  config.callstack_size = options.callstack_size;
  config.concurrent = options.is_concurrent != 0;
  return config;
}

allomon_status Start(const Session::Config& config, const allomon_callbacks& callbacks,
                     allomon_tracker* tracker) {
  CallbackClient* const callback_client = new (std::nothrow) CallbackClient(callbacks);
  if (callback_client == nullptr) return ALLOMON_OUT_OF_MEMORY;
  std::unique_ptr<allomon::internal::SessionClient> client(callback_client);
  const allomon::internal::StartResult result = allomon::internal::StartSession(config, client);
  if (client != nullptr) callback_client->LeaveUser();
  ALLOMON_DCHECK_EQ("inv.c.id", result.id == 0, client != nullptr);
  *tracker = result.id;
  return ToStatus(result.error);
}

template <typename Told, typename Live>
Told SumsOf(const Live& live) {
  Told out = {};
  out.struct_size = sizeof(out);
  out.sampled_blocks = live.sampled_blocks;
  out.blocks = {live.estimate.blocks.value, live.estimate.blocks.variance};
  out.bytes = {live.estimate.bytes.value, live.estimate.bytes.variance};
  return out;
}

allomon_live_stack ToC(const LiveStack& stack) {
  auto out = SumsOf<allomon_live_stack>(stack);
  out.frames = stack.callstack.begin();
  out.n_frames = static_cast<uint32_t>(stack.callstack.size());
  out.callstack_id = stack.callstack.id();
  out.is_cut = stack.callstack.cut();
  return out;
}

allomon_live_labels ToC(const LiveLabels& labels) {
  auto out = SumsOf<allomon_live_labels>(labels);
  out.labels = labels.labels.id();
  return out;
}

// Tells `each` what `take` finds.
template <typename Live, typename Each>
allomon_status Tell(allomon_tracker tracker, std::vector<Live> (*take)(SessionId), Each each,
                    void* user) {
  if (each == nullptr) return ALLOMON_INVALID_ARGUMENT;
  if (!allomon::internal::PinnedSession(tracker, SessionKind::kTracker)) {
    return ALLOMON_NO_SUCH_TRACKER;
  }
  std::vector<Live> all;
  try {
    all = take(tracker);
  } catch (const std::bad_alloc&) {
    return ALLOMON_OUT_OF_MEMORY;
  }
  for (const Live& live : all) {
    const auto told = ToC(live);
    if (each(user, &told) != 0) break;
  }
  return ALLOMON_OK;
}

allomon_tracker_counts CountsOf(Session& session) {
  const allomon::internal::SessionTotals totals =
      allomon::internal::Registry::Get().TotalsOf(session);
  allomon_tracker_counts counts = ALLOMON_TRACKER_COUNTS;
  counts.rate = session.config().rate;
  counts.seed = session.config().seed;
  counts.n_samples = totals.samples;
  counts.reported_blocks = totals.reported_blocks;
  counts.dropped_blocks = totals.dropped_blocks;
  counts.dropped_bytes = totals.dropped_bytes;
  counts.cut_callstacks = totals.cut_callstacks;
  counts.callback_failures = session.client().exceptions();
  return counts;
}

}  // namespace

allomon_status allomon_tracker_start(const allomon_tracker_options* options,
                                     const allomon_callbacks* callbacks, allomon_tracker* tracker) {
  if (tracker == nullptr) return ALLOMON_INVALID_ARGUMENT;
  *tracker = 0;
  allomon_tracker_options own_options = ALLOMON_TRACKER_DEFAULTS;
  if (options != nullptr && !CopyIn(options, kFirstOptionsBytes, &own_options)) {
    return ALLOMON_INVALID_ARGUMENT;
  }
  allomon_callbacks own_callbacks = allomon::c::FollowAll();
  if (callbacks != nullptr && !CopyIn(callbacks, kFirstCallbacksBytes, &own_callbacks)) {
    return ALLOMON_INVALID_ARGUMENT;
  }
  if (const allomon_status status = allomon_ready(); status != ALLOMON_OK) return status;
  return Start(ToConfig(own_options), own_callbacks, tracker);
}

allomon_status allomon_tracker_stop(allomon_tracker tracker, int32_t mode) {
  switch (mode) {
    case ALLOMON_DISCARD:
      return ToStatus(allomon::internal::StopAndDiscardSession(tracker, SessionKind::kTracker));
    case ALLOMON_KEEP_TRACKING:
      return ToStatus(allomon::internal::StopSession(tracker, SessionKind::kTracker));
  }
  return ALLOMON_INVALID_ARGUMENT;
}

allomon_status allomon_tracker_discard(allomon_tracker tracker) {
  return ToStatus(allomon::internal::DiscardSession(tracker, SessionKind::kTracker));
}

allomon_status allomon_tracker_drain(allomon_tracker tracker) {
  return ToStatus(allomon::internal::DrainSession(tracker, SessionKind::kTracker));
}

allomon_tracker allomon_tracker_sampling(void) { return allomon::internal::ExclusiveSession(); }

allomon_status allomon_tracker_snapshot(allomon_tracker tracker,
                                        int32_t (*each)(void* user,
                                                        const allomon_live_stack* stack),
                                        void* user) {
  return Tell(tracker, allomon::internal::LiveStacksOf, each, user);
}

allomon_status allomon_tracker_snapshot_by_labels(
    allomon_tracker tracker, int32_t (*each)(void* user, const allomon_live_labels* labels),
    void* user) {
  return Tell(tracker, allomon::internal::LiveLabelsOf, each, user);
}

allomon_status allomon_tracker_statistics(allomon_tracker tracker, allomon_tracker_counts* counts) {
  const allomon::internal::PinnedSession session(tracker, SessionKind::kTracker);
  if (!session) return ALLOMON_NO_SUCH_TRACKER;
  return CopyOut(CountsOf(*session), kFirstCountsBytes, counts) ? ALLOMON_OK
                                                                : ALLOMON_INVALID_ARGUMENT;
}
