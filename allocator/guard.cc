#include "allocator/guard.h"

#include <utility>

#include "allocator/guard/error_report.h"
#include "allocator/guard/fault_handler.h"
#include "allocator/guard/guarded_block.h"
#include "allocator/host/high_reservation.h"
#include "allocator/host/host_stderr.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/thread_annotations.h"

namespace allomon {
namespace {

using namespace ::allomon::internal;  // NOLINT: this file implements the guard's public interface

// While the phase is kStarting only the thread that starts the guard changes it.  A StopGuard() at
// that time does nothing, as if it came before the start.
enum class Phase { kOff, kStarting, kOn };

struct Control {
  SpinLock lock;
  Phase phase ALLOMON_GUARDED_BY(lock) = Phase::kOff;
  bool prepared ALLOMON_GUARDED_BY(lock) = false;
  // The session that the guard itself has started by StartSampling(); 0 without one.
  uint32_t sampling ALLOMON_GUARDED_BY(lock) = 0;
};
Control g_control;

bool Fail(const char* why, const char** error) {
  *error = why;
  return false;
}

// The pool and the handlers are made once and stay.
bool PrepareLocked(uint64_t seed) ALLOMON_REQUIRES(g_control.lock) {
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
