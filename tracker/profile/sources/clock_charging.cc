#include "tracker/profile/sources/clock_charging.h"

#include "tracker/allocation_clock.h"
#include "tracker/base/check.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/core/captured_stack.h"
#include "tracker/formats/count_units.h"
#include "tracker/managed_profiler.h"
#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/count_source.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/sources/alloc_session.h"

namespace allomon::internal {
namespace {

bool TakesClocks() {
  return recording.on.load(std::memory_order_relaxed) &&
         recording.takes_clocks.load(std::memory_order_relaxed);
}

// inv.clock: a clock never goes backwards.
uint64_t Take(AllocationClock& clock) {
  const uint64_t bytes = clock.Take();
  ALLOMON_DCHECK_LE("inv.clock", bytes, uint64_t{INT64_MAX});
  return bytes;
}

// `thread` is the calling thread.
void ChargeBytes(const ThreadProfile& thread, uint32_t function, uint64_t bytes) {
  const uint64_t amount = bytes * UnitsPerCount(ProfileKind::kAlloc);
  if (thread.counts != nullptr) return thread.counts->ChargeOwn(function, amount);
  UnitOf(thread).common->Charge(function, amount);
}

// The clock may be another thread's.  That thread's shadow stack cannot be read, and only that
// thread writes its counts, so the unit's common counts are charged.
void ChargeFromOutside(AllocationClock& clock) {
  constexpr ThreadProfile kNobody = {};
  const uint64_t amount = Take(clock) * UnitsPerCount(ProfileKind::kAlloc);
  const void* const owner = clock.owner.load(std::memory_order_acquire);
  const ThreadProfile& thread =
      owner == nullptr ? kNobody : *static_cast<const ThreadProfile*>(owner);
  const uint32_t running = thread.running.load(std::memory_order_relaxed);
  UnitOf(thread).common->Charge(owner == nullptr ? uint32_t{kMainSource} : running, amount);
}

void EnterCollector() { ++thread_profile.collecting; }

__attribute__((noinline)) void LeaveCollector(uint64_t bytes) {
  ThreadProfile& thread = thread_profile;
  --thread.collecting;
  if (!recording.Records(ProfileKind::kAlloc) || bytes == 0) return;
  const FrameState caller = ALLOMON_CALLER_FRAME();
  const BusyScope busy;
  CatchUp(thread);
  ChargeBytes(thread, kGcSource, bytes);
  if (!ChargesCallstacks() || !recording.stack_style()) return;
  UnitOf(thread).by_stack_gc.Add(CaptureStack(kStackFrames, caller).id,
                                 bytes * UnitsPerCount(ProfileKind::kAlloc));
}

void Settle(AllocationClock&) { ForgetThreadClock(); }

constexpr ManagedProfiler kProfiler = {EnterCollector, LeaveCollector, Settle};

}  // namespace

bool CanTakeClocks(ProfileKind kind, ProfileStyle style, double rate) {
  if (kind != ProfileKind::kAlloc || rate != 1) return false;
  if (hooked_functions.load(std::memory_order_relaxed) != 0) return false;
  if (RegisteredFunctionCount() != 0) return true;
  return ManagedFunctionCount() != 0 && style == ProfileStyle::kCurrent;
}

void StartTakingClocks() {
  VisitAllocationClocks([](AllocationClock& clock) { Take(clock); });
}

void ChargeClock(ThreadProfile& thread) {
  if (!TakesClocks()) return;
  AllocationClock* const clock = ThreadAllocationClock();
  if (clock == nullptr) return;
  clock->owner.store(&thread, std::memory_order_release);
  const uint64_t bytes = Take(*clock);
  if (bytes != 0) ChargeBytes(thread, TopFunction(thread), bytes);
}

void ChargeThreadClock() {
  const BusyScope busy;
  CatchUp(thread_profile);
  ChargeClock(thread_profile);
}

void ChargeAllClocksLocked() {
  ALLOMON_DCHECK("inv.units.locked", units_mutex.IsHeldForCheck());
  if (!TakesClocks()) return;
  ChargeThreadClock();
  VisitAllocationClocks(ChargeFromOutside);
}

void ForgetThreadClock() {
  ChargeThreadClock();
  AllocationClock* const clock = ThreadAllocationClock();
  if (clock != nullptr) clock->owner.store(nullptr, std::memory_order_release);
}

void InstallManagedProfiler() {
  static constexpr CountSource kSource = {ChargeThreadClock, ChargeAllClocksLocked,
                                          ForgetThreadClock, [](FunctionCell*) {}};
  RegisterCountSource(kClockSource, &kSource);
  managed_profiler.store(&kProfiler, std::memory_order_release);
}

}  // namespace allomon::internal
