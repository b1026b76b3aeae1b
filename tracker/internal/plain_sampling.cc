#include "tracker/internal/plain_sampling.h"

#include <memory>

#include "tracker/internal/control.h"
#include "tracker/internal/valueless_client.h"

namespace allomon::internal {
uint32_t StartPlainSampling(double rate, std::optional<uint64_t> seed) {
  Session::Config config;
  config.rate = rate;
  config.seed = seed ? *seed : RandomSeed();
  config.follows_blocks = false;
  config.is_tally = true;
  config.concurrent = true;
  std::unique_ptr<SessionClient> client = std::make_unique<ValuelessClient>();
  return StartSession(config, client).id;
}

void StopPlainSampling(uint32_t id) { StopAndDiscardSession(id); }

}  // namespace allomon::internal
