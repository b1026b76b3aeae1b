#include "allocator/in_place.h"

#include <atomic>

#include "allocator/host/high_reservation.h"
#include "allomon_backend.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/heap_client.h"

namespace allomon {
namespace {

std::atomic<uint64_t> g_chosen{0};
std::atomic<uint64_t> g_placed{0};

// The state of splitmix64, a stream that nothing else draws from: the law of sampling does not see
// whether there are coins.
std::atomic<uint64_t> g_stream{0};
constexpr uint64_t kStep = 0x9E3779B97F4A7C15;
// The sampler begins with the same seed.
constexpr uint64_t kApart = 0x5851F42D4C957F2D;

#ifdef ALLOMON_BACKEND_FOLLOWS_IN_PLACE
bool ListenToBackend() {
  static constexpr backend::InPlaceListener kListener = {[](uint32_t handle) {
                                                           const ErrnoKeeper keeper;
                                                           heap_client::OnFree(handle);
                                                         },
                                                         internal::CountDoubleFree};
  return backend::ListenInPlace(&kListener);
}
#else
bool ListenToBackend() { return false; }
#endif

}  // namespace

bool KeepSamplesInPlace(uint32_t one_in, std::optional<uint64_t> seed) {
  if (one_in != 0 && !ListenToBackend()) return false;
  g_stream.store((seed ? *seed : internal::KernelRandomBits()) ^ kApart, std::memory_order_relaxed);
  internal::in_place_one_in.store(one_in, std::memory_order_relaxed);
  return true;
}

InPlaceStatistics ReadInPlaceStatistics() {
  InPlaceStatistics statistics;
  statistics.chosen = g_chosen.load(std::memory_order_relaxed);
  statistics.placed = g_placed.load(std::memory_order_relaxed);
  return statistics;
}

namespace internal {

std::atomic<uint32_t> in_place_one_in{0};

bool DrawInPlaceSlow(uint32_t one_in) {
  uint64_t x = g_stream.fetch_add(kStep, std::memory_order_relaxed) + kStep;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  if ((x ^ x >> 31) % one_in != 0) return false;
  g_chosen.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void CountInPlace() { g_placed.fetch_add(1, std::memory_order_relaxed); }

}  // namespace internal
}  // namespace allomon
