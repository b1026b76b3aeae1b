#include "allocator/guard.h"

#include <utility>

#include "allocator/guard/error_report.h"
#include "allocator/guard/fault_handler.h"
#include "allocator/guard/guarded_block.h"
#include "allocator/high_reservation.h"
#include "allocator/host_stderr.h"

namespace allomon {
namespace {

using namespace ::allomon::internal;  // NOLINT: this file is the guard's public face

// While it is kStarting only who starts it changes it: a stop comes before, and does nothing.
enum class Phase { kOff, kStarting, kOn };

struct Control {
  heap_client::SpinLock lock;
  Phase phase = Phase::kOff;
  bool prepared = false;
  uint32_t sampling = 0;  // what it samples by itself; 0: nothing
};
Control g_control;

bool Fail(const char* why, const char** error) {
  *error = why;
  return false;
}

// What is done once and stays.
bool PrepareLocked(uint64_t seed) {
  if (g_control.prepared) return true;
  RememberStderr();
  if (!TheGuardedPool().Reserve(seed)) return false;
  InstallFaultHandlers();
  g_control.prepared = true;
  return true;
}

}  // namespace

bool StartGuard(const GuardOptions& options, const char** error) {
  if (options.one_in == 0) return Fail("guard: one_in must be at least 1", error);
  if (!(options.rate >= 0 && options.rate <= 1)) {
    return Fail("guard: the rate must be in [0, 1]", error);
  }
  const uint64_t seed = options.seed ? *options.seed : KernelRandomBits();
  {
    const SpinLockHolder hold(g_control.lock);
    if (g_control.phase != Phase::kOff) return Fail("guard: it is on already", error);
    if (!PrepareLocked(seed)) return Fail("guard: no address space for its pool", error);
    g_control.phase = Phase::kStarting;
  }
  GoOnAfterErrors(options.goes_on);
  BeginGuarding(options.one_in, seed);
  const uint32_t sampling =
      options.rate == 0 ? 0 : heap_client::StartSampling(options.rate, options.seed);
  const bool started = options.rate == 0 || sampling != 0;
  if (!started) EndGuarding();
  const SpinLockHolder hold(g_control.lock);
  g_control.phase = started ? Phase::kOn : Phase::kOff;
  g_control.sampling = sampling;
  return started || Fail("guard: too many trackers sample already", error);
}

void StopGuard() {
  uint32_t sampling = 0;
  {
    const SpinLockHolder hold(g_control.lock);
    if (g_control.phase != Phase::kOn) return;
    g_control.phase = Phase::kOff;
    EndGuarding();
    std::swap(sampling, g_control.sampling);
  }
  if (sampling != 0) heap_client::StopSampling(sampling);
}

GuardStatistics ReadGuardStatistics() {
  const GuardCounts counts = CountsOfGuard();
  GuardStatistics statistics;
  statistics.guarded_blocks = counts.guarded;
  statistics.live_blocks = TheGuardedPool().live();
  statistics.too_large = counts.too_large;
  statistics.no_room = counts.no_room;
  statistics.errors = ReportedErrors();
  return statistics;
}

bool ReportGuardedFault(const siginfo_t& info, void* context) {
  return internal::ReportFaultInPool(info, context);
}

}  // namespace allomon
