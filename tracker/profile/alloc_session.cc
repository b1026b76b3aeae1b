#include "tracker/profile/alloc_session.h"

#include <atomic>
#include <cmath>
#include <memory>

#include "tracker/estimate.h"
#include "tracker/internal/thread_state.h"
#include "tracker/internal/valueless_client.h"
#include "tracker/profile/data_units.h"
#include "tracker/profile/recording.h"
#include "tracker/profile/thread_profile.h"

namespace allomon::internal {
namespace {

// As in MLton, and in the counters of a managed heap, the header is a part of the object.
// What malloc keeps beside its blocks is its own affair.
uint64_t HeaderBytes(AllocationSource source) {
  const bool managed = source == AllocationSource::kNormal || source == AllocationSource::kMarshal;
  return managed ? sizeof(uint64_t) : 0;
}

// ReportProbability() at the session's one rate.  Of small blocks it is computed once for each
// size: its logarithm and exponential are a fifteenth of a sample's instructions.  Any thread:
// two that meet a size at once store the same number.
class ReportProbabilities {
 public:
  double Of(const Allocation& allocation) {
    const uint64_t words = TrialWords(allocation);
    if (words >= kSmallWords) return ReportProbability(words, allocation.rate);
    std::atomic<double>& known = small_[words];
    double probability = known.load(std::memory_order_relaxed);
    if (__builtin_expect(probability == 0, 0)) {
      probability = ReportProbability(words, allocation.rate);
      known.store(probability, std::memory_order_relaxed);
    }
    return probability;
  }

 private:
  static constexpr uint64_t kSmallWords = 130;  // blocks up to 1 KiB, with their header

  std::atomic<double> small_[kSmallWords] = {};  // 0: not yet
};

// Charges the function that runs, else the call stack.
void Charge(const Allocation& allocation, double probability) {
  Estimate bytes;
  bytes.Add(static_cast<double>(allocation.size_bytes + HeaderBytes(allocation.source)),
            probability);
  const uint64_t amount =
      static_cast<uint64_t>(std::llround(bytes.value * UnitsPerCount(ProfileKind::kAlloc)));
  const uintptr_t sp = CurrentThread().reporting_sp;
  const BusyScope busy;
  ThreadProfile& thread = thread_profile;
  DataUnit& unit = UnitOf(thread);
  ThreadCounts& counts = thread.counts != nullptr ? *thread.counts : *unit.common;
  if (ChargesCallstacks() && thread.collecting == 0) {
    AddToStackTimes(thread, sp, amount);
    unit.by_stack.Add(allocation.callstack.id(), amount);
  } else {
    counts.Charge(RunningFunction(thread, sp), amount);
  }
  if (bytes.variance > 0) counts.AddVariance(bytes.variance);
}

class AllocClient final : public ValuelessClient {
 public:
  bool AllocMinor(const Allocation& allocation, ValueSlot*) override {
    Charge(allocation, probabilities_.Of(allocation));
    return false;
  }
  bool AllocMajor(const Allocation& allocation, ValueSlot*) override {
    Charge(allocation, probabilities_.Of(allocation));
    return false;
  }

 private:
  ReportProbabilities probabilities_;
};

}  // namespace

StartResult StartAllocSession(const AllocSessionOptions& options) {
  Session::Config config;
  config.rate = options.rate;
  config.seed = options.seed;
  config.callstack_size = options.frames;
  config.only_malloc = options.only_malloc;
  config.follows_blocks = false;
  config.concurrent = true;
  std::unique_ptr<SessionClient> client = std::make_unique<AllocClient>();
  return StartSession(config, client);
}

}  // namespace allomon::internal
