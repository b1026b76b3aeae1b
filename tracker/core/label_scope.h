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

#include "tracker/core/ids.h"
#include "tracker/core/thread_state.h"

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
  uint32_t is_known;
};

inline constexpr size_t kUpToZero = SIZE_MAX;

inline uintptr_t SealOf(const LabelScope* scope, const ThreadState& thread) {
  constexpr uintptr_t kOdd = 0x6c61626c;
  return reinterpret_cast<uintptr_t>(scope) ^ reinterpret_cast<uintptr_t>(&thread) ^ kOdd;
}
inline bool IsPushed(const LabelScope* scope, const ThreadState& thread) {
  return scope->seal == SealOf(scope, thread);
}

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
}

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
