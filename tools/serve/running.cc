#include "tools/serve/running.h"

#include <time.h>

#include "tools/control/processes.h"

namespace allomon::serve {
namespace {

uint64_t Now(clockid_t clock) {
  constexpr uint64_t kNanosPerSecond = 1'000'000'000;
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

bool IsRunning(const recording::Process& process) {
  const auto facts = control::FactsOf(process.record.pid);
  if (process.record.ended || !facts) return false;
  // A process's start is known to a tick, and its clock also runs while the machine sleeps.
  constexpr uint64_t kTickNanos = 10'000'000;
  const uint64_t monotonic = Now(CLOCK_MONOTONIC);
  const uint64_t slept = Now(CLOCK_BOOTTIME) - monotonic;
  return facts->started_at_nanos <= process.record.start_monotonic_nanos + slept + kTickNanos;
}

}  // namespace allomon::serve
