#include "tracker/control/probe_sampler.h"

#include <cstring>
#include <memory>
#include <new>

#include "tracker/base/check.h"
#include "tracker/base/default_float.h"
#include "tracker/base/words.h"
#include "tracker/core/control.h"
#include "tracker/core/fork.h"
#include "tracker/core/one_inside.h"
#include "tracker/core/valueless_client.h"
#include "tracker/estimate.h"
#include "tracker/probes/probes.h"

namespace allomon::control {
namespace {

using internal::SessionKind;
using internal::ValueRoom;

double RateOf(uint64_t gap_bytes) {
  ALLOMON_DCHECK_NE("inv.control.gap", gap_bytes, 0u);
  return static_cast<double>(internal::kBytesPerWord) / gap_bytes;
}

// 0 for a block of size 0.
uint64_t WeightedBytes(const Allocation& allocation) {
  const internal::DefaultFloat our_float;
  const double p = ReportProbability(TrialWords(allocation), allocation.rate);
  ALLOMON_DCHECK("inv.formats.weight", 0 < p && p <= 1);
  return static_cast<uint64_t>(static_cast<double>(allocation.size_bytes) / p + 0.5);
}

// A block of malloc of which `alloc` was told.
struct NamedBlock {
  uint64_t address;
  uint64_t times_forked;  // at its birth: a child does not know the blocks of its parent
};
struct YoungBlock {
  uint64_t size_bytes;
  uint64_t weighted_bytes;
};
static_assert(sizeof(NamedBlock) <= sizeof(ValueRoom) && sizeof(YoungBlock) <= sizeof(ValueRoom));

template <typename Value>
bool Keep(const Value& value, ValueRoom* room) {
  memcpy(room->bytes, &value, sizeof(value));
  return true;
}
template <typename Value>
Value Kept(const ValueRoom& room) {
  Value value;
  memcpy(&value, room.bytes, sizeof(value));
  return value;
}

// A session that ends because its tracer has detached has nobody to tell of its blocks.
class ProbeClient final : public internal::SessionClient {
 public:
  bool AllocMajor(const Allocation& allocation, ValueRoom* room) override {
    if (allocation.address == nullptr || !IsFollowed()) return false;
    const uint64_t address = reinterpret_cast<uintptr_t>(allocation.address);
    probes::FireAlloc(address, allocation.size_bytes, WeightedBytes(allocation));
    return Keep(NamedBlock{address, internal::TimesForked()}, room);
  }
  void DeallocMajor(ValueRoom* room) override {
    const NamedBlock block = Kept<NamedBlock>(*room);
    ALLOMON_DCHECK_NE("inv.control.block", block.address, 0u);
    if (block.times_forked == internal::TimesForked()) probes::FireFree(block.address);
  }
  bool AllocMinor(const Allocation& allocation, ValueRoom* room) override {
    if (!probes::IsAttached(probes::allomon_promote_semaphore)) return false;
    return Keep(YoungBlock{allocation.size_bytes, WeightedBytes(allocation)}, room);
  }
  bool Promote(ValueRoom* room) override {
    const YoungBlock block = Kept<YoungBlock>(*room);
    probes::FirePromote(block.size_bytes, block.weighted_bytes);
    return false;
  }
  void DeallocMinor(ValueRoom*) override {}
  void SurviveMinor(const Allocation&, ValueRoom*) override {}
  void SurviveMajor(const Allocation&, ValueRoom*) override {}
  void DestroyMinor(ValueRoom*) override {}
  void DestroyMajor(ValueRoom*) override {}

 private:
  // Between a detachment and the next look the session goes on.
  static bool IsFollowed() {
    return probes::IsAttached(probes::otel_memory_alloc_semaphore) ||
           probes::IsAttached(probes::otel_memory_free_semaphore);
  }
};

bool IsAnyAttached() {
  return probes::IsAttached(probes::otel_memory_alloc_semaphore) ||
         probes::IsAttached(probes::otel_memory_free_semaphore) ||
         probes::IsAttached(probes::allomon_promote_semaphore);
}

// Static data without a destructor: blocks are sampled until the very end of the process.
class ProbeSampler {
 public:
  void Set(const ProbeOptions& options) {
    gap_bytes_ = options.gap_bytes;
    seed_ = options.seed ? *options.seed : internal::RandomSeed();
  }
  void Look() {
    const bool is_wanted = IsAnyAttached();
    if (is_wanted == (session_ != 0)) return;
    const internal::OneInside::Scope inside(door_);
    if (!inside || is_wanted == (session_ != 0)) return;
    if (is_wanted) {
      Start();
    } else {
      internal::StopAndDiscardSession(session_, SessionKind::kProbes);
      session_ = 0;
    }
  }

 private:
  void Start() {
    ALLOMON_DCHECK_EQ("inv.control.session", session_.load(std::memory_order_relaxed), 0u);
    internal::Session::Config config;
    config.kind = SessionKind::kProbes;
    config.rate = RateOf(gap_bytes_);
    config.seed = seed_;
    config.concurrent = true;
    std::unique_ptr<internal::SessionClient> client(new (std::nothrow) ProbeClient);
    if (client != nullptr) session_ = internal::StartSession(config, client).id;
  }

  internal::OneInside door_;
  uint64_t gap_bytes_ = kProbeGapBytes;
  uint64_t seed_ = 0;
  std::atomic<internal::SessionId> session_{0};  // written by the thread inside
};
ProbeSampler g_sampler;
std::atomic<bool> g_is_set{false};

class LookingClient final : public internal::ValuelessClient {
 public:
  explicit LookingClient(void (*look)()) : look_(look) {}
  bool AllocMinor(const Allocation&, ValueRoom*) override { return Look(); }
  bool AllocMajor(const Allocation&, ValueRoom*) override { return Look(); }

 private:
  bool Look() const {
    look_();
    return false;
  }

  void (*const look_)();
};

}  // namespace

void SetProbes(const ProbeOptions& options) {
  g_sampler.Set(options);
  g_is_set.store(true, std::memory_order_release);
}

void LookAtProbes() {
  // Pairs with the release in SetProbes(): the options are there.
  if (g_is_set.load(std::memory_order_acquire)) g_sampler.Look();
}

const char* StartLooking(void (*look)(), std::optional<uint64_t> seed) {
  const internal::SuspendedSampling suspended;
  internal::Session::Config config;
  config.kind = SessionKind::kAttendant;
  config.rate = RateOf(kLookGapBytes);
  config.seed = seed ? *seed : internal::RandomSeed();
  config.follows_blocks = false;
  config.concurrent = true;
  std::unique_ptr<internal::SessionClient> client(new (std::nothrow) LookingClient(look));
  if (client == nullptr) return "memory is short";
  const bool is_started =
      internal::StartSession(config, client).error == internal::ControlError::kNone;
  return is_started ? nullptr : "too many sessions sample already; stop one";
}

const char* WatchProbes(const ProbeOptions& options) {
  SetProbes(options);
  return StartLooking(LookAtProbes, options.seed);
}

}  // namespace allomon::control
