#include "tracker/internal/plain_sampling.h"

#include <memory>

#include "tracker/internal/control.h"

namespace allomon::internal {
namespace {

class PlainClient final : public SessionClient {
 public:
  bool AllocMinor(const Allocation&, ValueSlot*) override { return false; }
  bool AllocMajor(const Allocation&, ValueSlot*) override { return false; }
  bool Promote(ValueSlot*) override { return false; }
  void DeallocMinor(ValueSlot*) override {}
  void DeallocMajor(ValueSlot*) override {}
  void SurviveMinor(const Allocation&, ValueSlot*) override {}
  void SurviveMajor(const Allocation&, ValueSlot*) override {}
  void DestroyMinor(ValueSlot*) override {}
  void DestroyMajor(ValueSlot*) override {}
};

}  // namespace

uint32_t StartPlainSampling(double rate, std::optional<uint64_t> seed) {
  Session::Config config;
  config.rate = rate;
  config.seed = seed ? *seed : RandomSeed();
  config.follows_blocks = false;
  config.concurrent = true;
  std::unique_ptr<SessionClient> client = std::make_unique<PlainClient>();
  return StartSession(config, client).id;
}

void StopPlainSampling(uint32_t id) { StopAndDiscardSession(id); }

}  // namespace allomon::internal
