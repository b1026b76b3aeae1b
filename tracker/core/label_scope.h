// A thread's label scopes: a list that lies in the callers' stacks, the innermost scope first.
//
// A push and a pop cost a few stores, even while nothing samples.  Keys and values are read when a
// block is sampled.  All functions act on the calling thread, also in signal handlers, and never
// fail.
#ifndef ALLOMON_TRACKER_CORE_LABEL_SCOPE_H_
#define ALLOMON_TRACKER_CORE_LABEL_SCOPE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tracker/core/ids.h"
#include "tracker/core/thread_state.h"
#include "tracker/label_set.h"

namespace allomon::internal {

// The content of an `allomon_label_scope` of the C interface.
struct LabelScope {
  uintptr_t seal;     // SealOf() from push to pop; tells if a scope was overwritten
  LabelScope* outer;  // nullptr: none
  const char* key;    // owned by the caller, as is the value, until the scope ends
  const char* value;
  size_t key_bytes;  // kUpToZero: a zero ends it
  size_t value_bytes;
  LabelSetId set;  // the set of this scope and those outside of it, if `is_known`
  uint16_t is_known;
  uint16_t has_end;  // 1: it is the first member of an EndingScope
};

// The recordings that note the ends of scopes, at most: those at once.
inline constexpr uint32_t kMostNotedPlaces = 2;

// A scope with an end, which recordings note: the content of an `allomon_ending_scope`.
struct EndingScope {
  LabelScope scope;
  // Its record in each recording that has sampled blocks of it.
  struct Place {
    uint32_t serial;  // of the recording; 0: none
    uint32_t number;
  } places[kMostNotedPlaces];
};

inline constexpr size_t kUpToZero = SIZE_MAX;

inline uintptr_t SealOf(const LabelScope* scope, const ThreadState& thread) {
  constexpr uintptr_t kOdd = 0x6c61626c;
  return reinterpret_cast<uintptr_t>(scope) ^ reinterpret_cast<uintptr_t>(&thread) ^ kOdd;
}
inline bool IsPushed(const LabelScope* scope, const ThreadState& thread) {
  return scope->seal == SealOf(scope, thread);
}

// Whether any scope with an end has been opened so far.
extern std::atomic<bool> has_ending_scopes;

// Called at the end of a scope that a recording has noted, and by EndLabel().  Set once, by the
// recorder, before a scope is noted.
extern std::atomic<void (*)(const EndingScope& scope)> recorder_scope_end_hook;
extern std::atomic<void (*)(const LabelSet& label)> recorder_label_end_hook;

// Notes the end of a scope with an end, which has been popped.  Cost: two loads if no block was
// sampled in it.
void EndScopeSlow(const LabelScope& scope);

// Ends a label for the blocks of all threads that have it now.  Has no effect in a handler that has
// interrupted the tracker.
void EndLabel(std::string_view key, std::string_view value);

// Pops a scope that is not the innermost one, with all scopes inside of it.  A scope that has ended
// already, or that another thread pushed, is left alone.  Both cases are counted.
void PopLabelScopeSlow(LabelScope* scope, ThreadState& thread);

// Pushes a scope whose other fields are set.  A signal handler that interrupts this sees the scope
// completely or not at all.
inline void PushLabelScope(LabelScope* scope) {
  ThreadState& thread = CurrentThread();
  // A scope that longjmp left without a pop, and that is pushed again.
  if (__builtin_expect(IsPushed(scope, thread), 0)) PopLabelScopeSlow(scope, thread);
  scope->outer = thread.label_scope;
  scope->seal = SealOf(scope, thread);
  std::atomic_signal_fence(std::memory_order_release);
  thread.label_scope = scope;
}

inline void PopLabelScope(LabelScope* scope) {
  ThreadState& thread = CurrentThread();
  if (__builtin_expect(thread.label_scope != scope, 0)) return PopLabelScopeSlow(scope, thread);
  thread.label_scope = scope->outer;
  std::atomic_signal_fence(std::memory_order_release);
  scope->seal = 0;
  if (__builtin_expect(scope->has_end != 0, 0)) EndScopeSlow(*scope);
}

// Returns the innermost scope with an end that is at `scope` or outside of it, up to a scope that
// has been overwritten, or nullptr.
EndingScope* FindEndingScope(LabelScope* scope, const ThreadState& thread);

// Returns the place of the scope's own label in a set that was interned for it; kNoLabel: its key
// is not there, since sets had no more room.
inline constexpr uint32_t kNoLabel = UINT32_MAX;
uint32_t PlaceOfLabel(const LabelScope& scope, const LabelSet& set);

// Returns the interned set of the calling thread's labels.  Cost: a few loads if it is known; a
// walk and a look-up once for each scope in which blocks are sampled.  The caller itself has made
// the thread busy; code that it has interrupted has not.
LabelSetId InternLabelsSlow(LabelScope* innermost, const ThreadState& thread);
inline LabelSetId CurrentLabelSet(const ThreadState& thread) {
  LabelScope* const scope = thread.label_scope;
  return __builtin_expect(scope == nullptr, 1) ? 0 : InternLabelsSlow(scope, thread);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_LABEL_SCOPE_H_
