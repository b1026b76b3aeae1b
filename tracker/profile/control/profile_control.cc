#include "tracker/profile/control/profile_control.h"

#include <mutex>
#include <utility>

#include "tracker/base/default_float.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/base/uncancelled.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/core/control.h"
#include "tracker/core/fork.h"
#include "tracker/profile/hooks/entry_hooks.h"
#include "tracker/profile/hooks/hook_code.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/thread_attachment.h"
#include "tracker/profile/sources/alloc_session.h"
#include "tracker/profile/sources/clock_charging.h"
#include "tracker/profile/sources/managed_calls.h"
#include "tracker/profile/sources/time_session.h"

namespace allomon::internal {
namespace {

// A writer allocates nothing under the mutex: a writer that finds no memory leaves at the
// allocation, and releases no lock (allocator/host/writing_reserve.h).
struct Control {
  std::mutex mutex;
  RecordingOptions options;
  SessionId session = 0;                 // of kind alloc
  std::shared_ptr<const LiveHeap> live;  // the result of a session that was stopped
};
using ControlLock = std::lock_guard<std::mutex>;

// Never destroyed: destructors of other static objects may still stop a profile.
Control& TheControl() {
  alignas(Control) static unsigned char storage[sizeof(Control)];
  static Control* const control = new (storage) Control;
  return *control;
}

// The profiler's locks are taken before a fork and released after it, so that the child can use
// them.
void BeforeFork() ALLOMON_ACQUIRE(units_mutex) {
  TheControl().mutex.lock();
  units_mutex.LockAroundFork();
}
void AfterForkInParent() ALLOMON_RELEASE(units_mutex) {
  units_mutex.UnlockAfterFork();
  TheControl().mutex.unlock();
}
void AfterForkInChild() ALLOMON_RELEASE(units_mutex) {
  {
    const BusyScope busy;
    ForgetOtherThreadsLocked();
  }
  units_mutex.UnlockAfterFork();
  RestartTimersAfterFork();
  TheControl().mutex.unlock();
}

// inv.fork.order: the tracker's locks are taken under the control's mutex and the units' lock (by a
// profile of live blocks, and by clocks), so a fork takes them in the same order.
constexpr OuterForkHandlers kForkHandlers = {BeforeFork, AfterForkInParent, AfterForkInChild};

// Runs before the counts of another kind are dropped: a start that fails leaves them.
RecordingError CheckOptions(const RecordingOptions& options, std::string* error) {
  if (options.kind == ProfileKind::kAlloc && !(options.rate >= 0 && options.rate <= 1)) {
    *error = TextOf(ControlError::kBadRate);
    return RecordingError::kBadOption;
  }
  if (options.kind == ProfileKind::kTime && (options.hz < 1 || options.hz > kMostHz)) {
    *error = "the rate of ticks must lie in 1 .. 10000 per second";
    return RecordingError::kBadOption;
  }
  if (options.kind == ProfileKind::kTime && TimersRun()) {
    *error = "the timers are in use by monitor()";
    return RecordingError::kUnavailable;
  }
  if (options.kind == ProfileKind::kCount && !HasFunctions() && ManagedFunctionCount() == 0) {
    *error =
        "nothing to count: name functions by ALLOMON_FUNCTION(), or compile with "
        "-fpatchable-function-entry=9 (no other number on x86-64) and leave the symbols in";
    return RecordingError::kNothingToRecord;
  }
  return RecordingError::kNone;
}

HookMode HooksFor(const RecordingOptions& options) {
  if (options.live) return HookMode::kNone;
  if (options.style == ProfileStyle::kStack) return HookMode::kCall;
  if (options.kind == ProfileKind::kCount) return HookMode::kCount;
  return WouldChargeCallstacks(options.kind) ? HookMode::kNone : HookMode::kCall;
}

bool PutHooks(const RecordingOptions& options, std::string* error) {
  AttachThread();
  const UnitsLock hold;
  return SetHooksLocked(HooksFor(options), error);
}

void SetKind(const RecordingOptions& options) {
  const UnitsLock hold;
  const bool same = recording.kind.load(std::memory_order_relaxed) == options.kind &&
                    recording.style.load(std::memory_order_relaxed) == options.style &&
                    ChargesCallstacks() == WouldChargeCallstacks(options.kind);
  if (!same) ClearAllUnitsLocked();
  recording.kind.store(options.kind, std::memory_order_relaxed);
  recording.style.store(options.style, std::memory_order_relaxed);
  recording.charges_callstacks.store(WouldChargeCallstacks(options.kind),
                                     std::memory_order_relaxed);
  recording.takes_clocks.store(
      !options.live && CanTakeClocks(options.kind, options.style, options.rate),
      std::memory_order_relaxed);
}

void BeginRecording() {
  const UnitsLock hold;
  ResumeAllUnitsLocked();
  StartTakingClocks();
  recording.starts.fetch_add(1, std::memory_order_relaxed);
  recording.on.store(true, std::memory_order_release);
  TellThreadsLocked();
  WatchManagedCalls(recording.takes_clocks.load(std::memory_order_relaxed) || !ChargesCallstacks());
  CatchUp(thread_profile);
}

void EndRecording() {
  const UnitsLock hold;
  if (!recording.on.load(std::memory_order_relaxed)) return;
  ChargeAllClocksLocked();
  WatchManagedCalls(false);
  HoldAllUnitsLocked();
  recording.on.store(false, std::memory_order_release);
  TellThreadsLocked();
}

// The number of frames to capture of a call stack, in recordings that charge call stacks.
uint32_t FramesFor(const RecordingOptions& options) {
  if (!ChargesCallstacks() && !options.live) return 0;
  // Code without hooks may be deep in the callees of the function that is charged.
  const bool deep = options.style == ProfileStyle::kStack || HasFunctions();
  return deep ? kStackFrames : kAttributionFrames;
}

RecordingError StartSource(Control& control, const RecordingOptions& options, std::string* error) {
  if (options.kind == ProfileKind::kTime) {
    SetTimeFrames(FramesFor(options));
    return StartTimers(options.hz, nullptr, error) ? RecordingError::kNone
                                                   : RecordingError::kUnavailable;
  }
  if (options.kind != ProfileKind::kAlloc) return RecordingError::kNone;
  AllocSessionOptions session;
  session.rate = options.rate;
  session.seed = *options.seed;
  session.frames = FramesFor(options);
  session.only_malloc = recording.takes_clocks.load(std::memory_order_relaxed);
  const StartResult started =
      options.live ? StartLiveSession(options.rate, *options.seed, FramesFor(options))
                   : StartAllocSession(session);
  control.session = started.id;
  if (started.error == ControlError::kNone) return RecordingError::kNone;
  *error = "too many trackers; stop or discard one first";
  return RecordingError::kUnavailable;
}

// Returns the session of live blocks that is being recorded; 0 if there is none.
SessionId LiveSession() {
  Control& control = TheControl();
  const ControlLock hold(control.mutex);
  return control.options.live ? control.session : 0;
}

std::shared_ptr<const LiveHeap> LiveHeapNow(SessionId session) {
  return std::make_shared<const LiveHeap>(LiveHeapOf(session));
}

void StopSource(Control& control, std::shared_ptr<const LiveHeap> live) {
  if (control.options.live) control.live.swap(live);
  if (control.session != 0) StopAndDiscardSession(control.session, SessionKind::kProfile);
  control.session = 0;
  // While calls are counted monitor() may use the timers.
  if (control.options.kind == ProfileKind::kTime) StopTimers();
}

}  // namespace

RecordingError StartRecording(const RecordingOptions& wanted, std::string* error) {
  const Uncancelled uncancelled;
  const DefaultFloat our_float;
  RecordingOptions options = wanted;
  if (!options.seed.has_value()) options.seed = RandomSeed();
  Control& control = TheControl();
  const std::lock_guard<std::mutex> hold(control.mutex);
  if (recording.on.load(std::memory_order_relaxed)) {
    *error = "profiling is on; stop it first";
    return RecordingError::kOn;
  }
  const SuspendedSampling suspended;
  FindHookedFunctions();
  if (const RecordingError bad = CheckOptions(options, error); bad != RecordingError::kNone) {
    return bad;
  }
  if (!PutHooks(options, error)) return RecordingError::kUnavailable;
  SetKind(options);
  SetOuterForkHandlers(&kForkHandlers);
  InstallManagedProfiler();
  BeginRecording();
  const RecordingError result = StartSource(control, options, error);
  if (result != RecordingError::kNone) {
    EndRecording();
    return result;
  }
  control.options = options;
  return RecordingError::kNone;
}

RecordingError StopRecording() {
  const Uncancelled uncancelled;
  const DefaultFloat our_float;
  const OwnWork own;
  std::shared_ptr<const LiveHeap> live;
  if (const SessionId session = LiveSession()) live = LiveHeapNow(session);
  Control& control = TheControl();
  const ControlLock hold(control.mutex);
  if (!recording.on.load(std::memory_order_relaxed)) return RecordingError::kOff;
  StopSource(control, std::move(live));
  EndRecording();
  return RecordingError::kNone;
}

bool IsRecording() { return recording.on.load(std::memory_order_relaxed); }

RecordingOptions LastRecording() {
  Control& control = TheControl();
  RecordingOptions options;
  size_t exclude_bytes = 0;
  {
    const ControlLock hold(control.mutex);
    if (control.options.exclude.has_value()) exclude_bytes = control.options.exclude->size();
  }
  options.exclude.emplace().reserve(exclude_bytes);  // so that the copy allocates nothing
  const ControlLock hold(control.mutex);
  options = control.options;
  return options;
}

std::shared_ptr<const LiveHeap> LastLiveHeap() {
  if (const SessionId session = LiveSession()) return LiveHeapNow(session);
  Control& control = TheControl();
  const ControlLock hold(control.mutex);
  return control.options.live ? control.live : nullptr;
}

bool ParseProfile(std::string_view text, RecordingOptions* options) {
  constexpr std::string_view kStack = ",stack";
  options->style = ProfileStyle::kCurrent;
  if (text.size() > kStack.size() && text.substr(text.size() - kStack.size()) == kStack) {
    options->style = ProfileStyle::kStack;
    text.remove_suffix(kStack.size());
  }
  options->live = text == "live";
  options->kind = text == "time"    ? ProfileKind::kTime
                  : text == "count" ? ProfileKind::kCount
                                    : ProfileKind::kAlloc;
  return text == "alloc" || options->live || text == "time" || text == "count";
}

}  // namespace allomon::internal
