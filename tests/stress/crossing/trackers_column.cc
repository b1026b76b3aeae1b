// Several trackers at once, at several rates, and one more that a separate thread starts, stops and
// discards while the row runs.  Without CROSSING_TRACKERS in the environment, no tracker is
// started.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>

#include "tests/stress/crossing/column.h"
#include "tracker/tracker.h"

namespace crossing {
namespace {

using ::allomon::Allocation;
using ::allomon::StartOptions;
using ::allomon::StopMode;
using ::allomon::Tracker;
using ::allomon::TrackerId;

struct Counts {
  std::atomic<long> allocs{0};
  std::atomic<long> deallocs{0};
};

struct Counting {
  std::optional<Counts*> alloc_major(const Allocation&) {
    ++counts->allocs;
    return counts;
  }
  void dealloc_major(Counts* of) { ++of->deallocs; }
  Counts* counts;
};

constexpr double kRates[] = {1, 0.1, 1e-3};
Counts g_counts[4];
TrackerId g_ids[3];
bool g_wanted = false;

pthread_t g_churner;
std::atomic<bool> g_done{false};
std::atomic<bool> g_churn_failed{false};

TrackerId Start(double rate, Counts* counts) {
  StartOptions options;
  options.concurrent = true;
  const auto id = Tracker::start(rate, Counting{counts}, options);
  if (!id.ok()) {
    g_churn_failed = true;
    return {};
  }
  return *id;
}

// The host's signals are meant for its own threads.
void* Churn(void*) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (int i = 0; !g_done; ++i) {
    const TrackerId id = Start(0.5, &g_counts[3]);
    AllocateByMalloc(static_cast<unsigned>(i));
    const bool keeps = i % 2 == 0;
    if (!Tracker::stop(id, keeps ? StopMode::kKeepTracking : StopMode::kDiscard).ok()) {
      g_churn_failed = true;
    }
    if (keeps && !Tracker::discard(id).ok()) g_churn_failed = true;
    usleep(200);
  }
  return nullptr;
}

}  // namespace

void StartColumn() {
  g_wanted = getenv("CROSSING_TRACKERS") != nullptr;
  if (!g_wanted) return;
  for (int i = 0; i < 3; ++i) g_ids[i] = Start(kRates[i], &g_counts[i]);
  if (pthread_create(&g_churner, nullptr, Churn, nullptr) != 0) abort();
}

const char* FinishColumn() {
  if (!g_wanted) return nullptr;
  g_done = true;
  pthread_join(g_churner, nullptr);
  for (unsigned i = 0; i < 100; ++i) Allocate(i);
  for (const TrackerId id : g_ids) {
    if (!Tracker::stop(id).ok()) return "a tracker does not stop";
  }
  if (g_churn_failed) return "a tracker did not start, stop or discard";
  for (int i = 0; i < 3; ++i) {
    if (g_counts[i].allocs == 0) return "a tracker saw nothing";
    if (g_counts[i].deallocs > g_counts[i].allocs) return "more deaths than births";
  }
  return g_counts[0].allocs < g_counts[2].allocs ? "the rarer is seen more often" : nullptr;
}

uint64_t Allocate(unsigned seed) { return AllocateByMalloc(seed); }
OnThread::OnThread() {}
OnThread::~OnThread() {}
Waiting::Waiting() {}
Waiting::~Waiting() {}

}  // namespace crossing
