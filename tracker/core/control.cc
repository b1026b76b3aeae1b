#include "tracker/core/control.h"

#include <sys/random.h>
#include <time.h>

#include <atomic>

#include "tracker/base/default_float.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/core/callback_scope.h"
#include "tracker/core/entries.h"
#include "tracker/core/fork.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/registry.h"
#include "tracker/sampling/trial.h"

namespace allomon::internal {
namespace {

// Set before main, by constructors.
std::atomic<bool> g_heap_takes_blocks{false};
std::atomic<bool> g_reporter_is_linked{false};
std::atomic<bool> g_has_c_interface{false};
std::atomic<bool> g_stands_aside{false};

bool IsExclusive(SessionId id) {
  const Session* session = Session::Find(id);
  return session != nullptr && !session->config().concurrent;
}

SessionId ExclusiveLocked() ALLOMON_REQUIRES(Registry::Get().lock()) {
  const ActiveSet& active = Registry::Get().active_locked();
  for (uint32_t i = 0; i < active.count; ++i) {
    if (IsExclusive(active.items[i].id)) return active.items[i].id;
  }
  return 0;
}

// Computes the fields of the whole set from its items.
void RecomputeLocked(ActiveSet* active) {
  SetCombinedRate(active);
  active->callstack_size = 0;
  active->follows_blocks = false;
  active->has_callbacks = false;
  for (uint32_t i = 0; i < active->count; ++i) {
    const Session* session = Session::Find(active->items[i].id);
    const Session::Config& config = session->config();
    if (config.callstack_size > active->callstack_size)
      active->callstack_size = config.callstack_size;
    active->follows_blocks |= config.follows_blocks;
    active->has_callbacks |= !config.is_tally;
  }
}

void AddToActiveLocked(const Session& session) ALLOMON_REQUIRES(Registry::Get().lock()) {
  ActiveSet active = Registry::Get().active_locked();
  if (active.count == 0) Registry::Get().RestartStreamsLocked();
  const Session::Config& config = session.config();
  active.items[active.count++] = {session.id(), config.is_tally, config.counts_words,
                                  Rate(config.rate)};
  active.seed = config.seed;
  RecomputeLocked(&active);
  Registry::Get().PublishLocked(active);
}

bool RemoveFromActiveLocked(SessionId id) ALLOMON_REQUIRES(Registry::Get().lock()) {
  ActiveSet active = Registry::Get().active_locked();
  for (uint32_t i = 0; i < active.count; ++i) {
    if (active.items[i].id != id) continue;
    active.items[i] = active.items[--active.count];
    RecomputeLocked(&active);
    Registry::Get().PublishLocked(active);
    return true;
  }
  return false;
}

ControlError Validate(const Session::Config& config) {
  // Written so that a NaN fails.
  if (!(config.rate >= 0 && config.rate <= 1)) return ControlError::kBadRate;
  if (config.callstack_size > kMaxCallstackSize) return ControlError::kBadCallstackSize;
  return ControlError::kNone;
}

StartResult StartLocked(const Session::Config& config, SessionClient* client)
    ALLOMON_REQUIRES(Registry::Get().lock()) {
  if (!config.concurrent && ExclusiveLocked() != 0) return {ControlError::kAlreadyStarted, 0};
  if (Registry::Get().active_locked().count == kMaxSamplingSessions) {
    return {ControlError::kTooMany, 0};
  }
  Session* session = Session::ClaimLocked(config, client);
  if (session == nullptr) return {ControlError::kTooMany, 0};
  AddToActiveLocked(*session);
  return {ControlError::kNone, session->id()};
}

ControlError StopLocked(SessionId* id, SessionKind kind) ALLOMON_REQUIRES(Registry::Get().lock()) {
  const DefaultFloat our_float;
  if (*id == 0) *id = ExclusiveLocked();
  Session* const session = Session::Find(*id, kind);
  if (session == nullptr || !RemoveFromActiveLocked(*id)) return ControlError::kNotStarted;
  session->SetStoppedLocked();
  return ControlError::kNone;
}

// Marks the session discarded.  A caller that gets kNone must go on with DestroySession().
ControlError BeginDiscardLocked(SessionId id, SessionKind kind)
    ALLOMON_REQUIRES(Registry::Get().lock()) {
  Session* session = Session::Find(id, kind);
  if (session == nullptr || session->status() == SessionStatus::kDiscarded) {
    return ControlError::kNoSuchTracker;
  }
  if (session->sampling()) return ControlError::kNotStopped;
  session->SetDiscardedLocked();
  return ControlError::kNone;
}

// Destroys the values that no callback will get any more, and retires the session.
void DestroySession(SessionId id) {
  Session& session = *Session::Find(id);
  SuspendedSampling suspended;  // user destructors run
  ForgetEntriesOf(session);
  session.Retire();
  suspended.Finish();
}

}  // namespace

void AnnounceHeap() { g_heap_takes_blocks.store(true, std::memory_order_relaxed); }

void AnnounceReporter() { g_reporter_is_linked.store(true, std::memory_order_relaxed); }

bool HeapTakesBlocks() { return g_heap_takes_blocks.load(std::memory_order_relaxed); }

bool HeapIsLinked() {
  return HeapTakesBlocks() || g_reporter_is_linked.load(std::memory_order_relaxed);
}

void AnnounceCInterface() { g_has_c_interface.store(true, std::memory_order_relaxed); }

bool HasCInterface() { return g_has_c_interface.load(std::memory_order_relaxed); }

void AnnounceStandingAside() { g_stands_aside.store(true, std::memory_order_relaxed); }

bool IsStandingAside() { return g_stands_aside.load(std::memory_order_relaxed); }

void AnnounceHostHeap() {
  AnnounceReporter();
  g_stands_aside.store(false, std::memory_order_relaxed);
}

StartResult StartSession(const Session::Config& config, std::unique_ptr<SessionClient>& client) {
  ALLOMON_DCHECK("inv.session.kind", config.kind != SessionKind::kNone);
  const ControlError error = Validate(config);
  if (error != ControlError::kNone) return {error, 0};
  InstallForkHandlers();
  const DefaultFloat our_float;
  const TickSafeLockHolder hold(Registry::Get().lock());
  const StartResult result = StartLocked(config, client.get());
  if (result.error == ControlError::kNone) client.release();
  return result;
}

ControlError StopSession(SessionId id, SessionKind kind) {
  const TickSafeLockHolder hold(Registry::Get().lock());
  return StopLocked(&id, kind);
}

ControlError DiscardSession(SessionId id, SessionKind kind) {
  {
    const TickSafeLockHolder hold(Registry::Get().lock());
    const ControlError error = BeginDiscardLocked(id, kind);
    if (error != ControlError::kNone) return error;
  }
  DestroySession(id);
  return ControlError::kNone;
}

ControlError DrainSession(SessionId id, SessionKind kind) {
  {
    PinnedSession session(id, kind);
    if (!session || session->status() == SessionStatus::kDiscarded) {
      return ControlError::kNoSuchTracker;
    }
    if (session->sampling()) return ControlError::kNotStopped;
    SuspendedSampling suspended;  // user code runs
    SurviveEntriesOf(*session);
    suspended.Finish();
  }
  return DiscardSession(id, kind);
}

ControlError StopAndDiscardSession(SessionId id, SessionKind kind) {
  {
    const TickSafeLockHolder hold(Registry::Get().lock());
    const ControlError error = StopLocked(&id, kind);
    if (error != ControlError::kNone) return error;
    BeginDiscardLocked(id, kind);
  }
  DestroySession(id);
  return ControlError::kNone;
}

SuspendedSampling::SuspendedSampling() {
  ThreadState& thread = CurrentThread();
  if (!thread.in_callback) scope_.emplace(thread);
}

SuspendedSampling::~SuspendedSampling() = default;
void SuspendedSampling::Finish() {
  if (scope_) scope_->Finish();
}

SessionId ExclusiveSession() {
  const TickSafeLockHolder hold(Registry::Get().lock());
  return ExclusiveLocked();
}

// Asks the kernel directly: the C library's function (glibc 2.41) blocks signals, takes a lock and
// maps memory when it is first called.
uint64_t RandomSeed() {
  uint64_t seed = 0;
  const long bytes = sys::SystemCall(SYS_getrandom, &seed, sizeof(seed), GRND_NONBLOCK);
  if (bytes == sizeof(seed)) return seed;
  // Early in boot the seed is not secret, but differs between runs.
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_nsec) << 32 ^ static_cast<uint64_t>(now.tv_sec);
}

const char* TextOf(ControlError error) {
  switch (error) {
    case ControlError::kNone:
      return "ok";
    case ControlError::kBadRate:
      return "the rate must be a number in [0, 1] (samples per word)";
    case ControlError::kBadCallstackSize:
      return "callstack_size must be at most 1024";
    case ControlError::kAlreadyStarted:
      return "already started; stop the tracker that samples, or start this one as concurrent";
    case ControlError::kTooMany:
      return "eight trackers sample already, or sixteen exist; stop and discard one";
    case ControlError::kNotStarted:
      return "not started";
    case ControlError::kNotStopped:
      return "still sampling; stop the tracker first, and keep tracking";
    case ControlError::kNoSuchTracker:
      return "no such tracker, or it was discarded already";
  }
  return "unknown error";
}

}  // namespace allomon::internal
