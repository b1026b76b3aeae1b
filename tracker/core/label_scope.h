// A thread's label scopes: a list that lies in the callers' stacks, the innermost scope first.
//
// A push and a pop are a few stores, whether anybody samples or not; keys and values are looked at
// when a block is sampled.  The calling thread's own, also in signal handlers; never fails.
#ifndef ALLOMON_TRACKER_CORE_LABEL_SCOPE_H_
#define ALLOMON_TRACKER_CORE_LABEL_SCOPE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/core/label_set_id.h"
#include "tracker/core/thread_state.h"

namespace allomon::internal {

// What lies in an `allomon_label_scope` of the C interface.
struct LabelScope {
  uintptr_t seal;     // SealOf() from push to pop: a scope that was overwritten is recognised
  LabelScope* outer;  // nullptr: none
  const char* key;    // the owner's, as is the value, until the scope ends
  const char* value;
  size_t key_bytes;  // kUpToZero: a zero ends it
  size_t value_bytes;
  LabelSetId set;  // what this scope and those outside of it amount to, if `is_known`
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

// For a scope that is not the innermost one.  Ends it with all that lie inside of it; one that has
// ended already, or that another thread pushed, is left alone.  Both are counted.
void PopLabelScopeSlow(LabelScope* scope, ThreadState& thread);

// The other fields are set.  A handler that interrupts this finds the scope whole or not at all.
inline void PushLabelScope(LabelScope* scope) {
  ThreadState& thread = CurrentThread();
  // Left without a pop, by longjmp, and pushed again.
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

// What the calling thread's labels are interned as.  Cost: a few loads where that is known; once
// for each scope in which blocks are sampled, a walk and a look-up.  The thread is busy by the
// caller's doing, not by that of code that the caller has interrupted.
LabelSetId InternLabelsSlow(LabelScope* innermost, const ThreadState& thread);
inline LabelSetId CurrentLabelSet(const ThreadState& thread) {
  LabelScope* const scope = thread.label_scope;
  return __builtin_expect(scope == nullptr, 1) ? 0 : InternLabelsSlow(scope, thread);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_LABEL_SCOPE_H_
