#include "tracker/profile/alloc_session.h"

#include <memory>

#include "tracker/profile/profile_data.h"

namespace allomon {
namespace {

// Deep enough to find a function with a symbol above the static ones of a stripped
// library, cheap enough for every sample.
constexpr uint32_t kAttributionFrames = 32;

class AllocClient final : public internal::SessionClient {
 public:
  bool AllocMinor(const Allocation& allocation, internal::ValueSlot*) override {
    return Count(allocation);
  }
  bool AllocMajor(const Allocation& allocation, internal::ValueSlot*) override {
    return Count(allocation);
  }

  // Nothing is followed, so there are no values.
  bool Promote(internal::ValueSlot*) override { return false; }
  void DeallocMinor(internal::ValueSlot*) override {}
  void DeallocMajor(internal::ValueSlot*) override {}
  void SurviveMinor(const Allocation&, internal::ValueSlot*) override {}
  void SurviveMajor(const Allocation&, internal::ValueSlot*) override {}
  void DestroyMinor(internal::ValueSlot*) override {}
  void DestroyMajor(internal::ValueSlot*) override {}

 private:
  static bool Count(const Allocation& allocation) {
    CurrentProfileData().Add(allocation, CurrentSourceFunction());
    return false;
  }
};

}  // namespace

internal::StartResult StartAllocSession(double rate, uint64_t seed) {
  internal::Session::Config config;
  config.rate = rate;
  config.seed = seed;
  config.callstack_size = kAttributionFrames;
  config.follows_blocks = false;
  config.concurrent = true;
  std::unique_ptr<internal::SessionClient> client = std::make_unique<AllocClient>();
  return internal::StartSession(config, client);
}

}  // namespace allomon
