// Starting, stopping and discarding sessions.  Thread safe; may be called inside a callback; not
// inside malloc, nor in a signal handler.
#ifndef ALLOMON_TRACKER_CORE_CONTROL_H_
#define ALLOMON_TRACKER_CORE_CONTROL_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "tracker/core/callback_scope.h"
#include "tracker/core/session.h"

namespace allomon::internal {

// ---- Why a session could not be started, stopped or discarded.

enum class ControlError {
  kNone,
  kBadRate,           // NaN or outside [0, 1]
  kBadCallstackSize,  // larger than kMaxCallstackSize
  kAlreadyStarted,    // an exclusive session is sampling
  kTooMany,           // no room for another session
  kNotStarted,        // no such session is sampling
  kNotStopped,        // discard of a session that still samples
  kNoSuchTracker,     // discarded already, or never started
};

// Returns the meaning of an error and its remedy: a static text for users of C and C++.
const char* TextOf(ControlError error);

// Notes that a heap is linked which reports blocks of malloc or its own.  AnnounceReporter() notes
// that only code is linked whose users report bytes (custom_memory.h).  Constructors call these
// before main.
void AnnounceHeap();
void AnnounceReporter();
bool HeapIsLinked();
bool HeapTakesBlocks();

// Notes that the C interface (tracker/c) is linked with this code.  A constructor calls it before
// main.
void AnnounceCInterface();
bool HasCInterface();

// Notes that another heap than this library's serves the process.  A constructor calls it before
// main.
void AnnounceStandingAside();
bool IsStandingAside();

// Notes that the process's own heap reports its blocks (allomon/custom_memory.h), so this library
// samples, also where its own heap stands aside.  Harmless if repeated.
void AnnounceHostHeap();

// Frames are captured into the thread's stack: 1024 of them take 8 KiB.
inline constexpr uint32_t kMaxCallstackSize = 1024;

struct StartResult {
  ControlError error = ControlError::kNone;
  SessionId id = 0;
};

// Takes the client over, but only on success.  The configuration names the session's kind.
StartResult StartSession(const Session::Config& config, std::unique_ptr<SessionClient>& client);

// The functions below treat a session of another kind as if it did not exist.

// Ends sampling; blocks are still followed.  Id 0 stands for the exclusive session.
ControlError StopSession(SessionId id, SessionKind kind);

// Ends everything; the client is deleted when the last callback has returned.
ControlError DiscardSession(SessionId id, SessionKind kind);

// Hands every live block of a stopped session to its client, then discards it.
ControlError DrainSession(SessionId id, SessionKind kind);

// Stop and discard at once, as OCaml 4.14's stop.
ControlError StopAndDiscardSession(SessionId id, SessionKind kind);

// While one exists, its thread's allocations are not sampled; for our own work on behalf of the
// user.  Nests; harmless inside a callback.
class SuspendedSampling {
 public:
  SuspendedSampling();
  ~SuspendedSampling();
  // Runs the deallocs that were postponed meanwhile; otherwise they wait for the thread's next
  // callback.  Callers must call it if user code ran, which may have ended the thread.
  void Finish();
  SuspendedSampling(const SuspendedSampling&) = delete;
  SuspendedSampling& operator=(const SuspendedSampling&) = delete;

 private:
  std::optional<CallbackScope> scope_;  // empty if the thread was suspended already
};

// The exclusive session that samples now, or 0.
SessionId ExclusiveSession();

// A seed that cannot be predicted, for sessions that do not name one.
uint64_t RandomSeed();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_CONTROL_H_
