#include "tracker/profile/sources/alloc_session.h"

#include <memory>

#include "tracker/base/default_float.h"
#include "tracker/core/object_bytes.h"
#include "tracker/core/sample_weights.h"
#include "tracker/core/thread_state.h"
#include "tracker/core/valueless_client.h"
#include "tracker/estimate.h"
#include "tracker/formats/count_units.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon::internal {
namespace {

// A thread's samples do not overlap: while one is reported, signal handlers take no samples.
void AddVariance(const ThreadProfile& thread, const DataUnit& unit, double variance) {
  if (__builtin_expect(thread.counts != nullptr, 1)) {
    thread.counts->AddOwnVariance(variance);
  } else {
    unit.common->AddVariance(variance);
  }
}

// Charges the running function, or the call stack.
void Charge(const TallySample& sample, uint64_t amount, double variance) {
  const BusyScope busy;
  ThreadProfile& thread = thread_profile;
  DataUnit& unit = UnitOf(thread);
  if (__builtin_expect(ChargesCallstacks() && thread.collecting == 0, 1)) {
    AddToStackTimes(thread, sample.sp, amount);
    unit.by_stack.Add(sample.stack, amount);
  } else {
    CountsOf(thread).Charge(RunningFunction(thread, sample.sp), amount);
  }
  if (variance > 0) AddVariance(thread, unit, variance);
}

class AllocClient final : public ValuelessClient {
 public:
  explicit AllocClient(double rate) : weights_(rate, UnitsPerCount(ProfileKind::kAlloc)) {}

  void Tally(const TallySample& sample) override {
    const DefaultFloat our_float;
    const uint64_t trial_words = TrialWords(sample.size_bytes, sample.source);
    const SampleWeight weight = weights_.Of(trial_words);
    // Signed, because processors convert signed integers to and from floating point, and no block
    // has 2^63 bytes.
    const int64_t size_bytes = static_cast<int64_t>(ObjectBytes(sample.size_bytes, sample.source));
    const double bytes = static_cast<double>(size_bytes);
    const int64_t rounded = static_cast<int64_t>(bytes * weight.amount + 0.5);
    Charge(sample, static_cast<uint64_t>(rounded), bytes * bytes * weight.variance);
  }

 private:
  SampleWeights weights_;  // amounts in units of the counts
};

}  // namespace

StartResult StartAllocSession(const AllocSessionOptions& options) {
  Session::Config config;
  config.kind = SessionKind::kProfile;
  config.rate = options.rate;
  config.seed = options.seed;
  config.callstack_size = options.frames;
  config.only_malloc = options.only_malloc;
  config.follows_blocks = false;
  config.is_tally = true;
  config.concurrent = true;
  std::unique_ptr<SessionClient> client = std::make_unique<AllocClient>(options.rate);
  return StartSession(config, client);
}

}  // namespace allomon::internal
