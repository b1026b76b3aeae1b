// Our malloc (malloc_pair.h).
#include <optional>

#include "benchmarks/built_with.h"
#include "benchmarks/malloc_pair.h"
#include "tracker/tracker.h"

namespace allomon::benchmarks {
namespace {

struct FollowAll {
  std::optional<int> alloc_major(const Allocation&) { return 1; }
  void dealloc_major(int) {}
};

}  // namespace

bool StartSampling(double rate) {
  StartOptions options;
  options.seed = 42;
  return Tracker::start(rate, FollowAll{}, options).ok();
}

bool StopSampling() { return Tracker::stop().ok(); }

bool PrintWhatSamples() {
  PrintBuiltWith();
  return true;
}

}  // namespace allomon::benchmarks
