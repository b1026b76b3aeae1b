// The only cost of sampling for an allocation: it subtracts the block's words from a thread-local
// number, and branches if the result is below zero.
//
// The countdown is the number of words that may still be allocated before the next hit.  After a
// gap of g it starts at g - 1, so the block that contains the g-th word makes it negative.  While
// the thread is not sampling it is kNeverWords.
//
// A countdown is written by its own thread, and by `start` on another thread (see "Threads" in
// tracker/README.md).
#ifndef ALLOMON_TRACKER_SAMPLING_COUNTDOWN_H_
#define ALLOMON_TRACKER_SAMPLING_COUNTDOWN_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/tls.h"

#if defined(__SANITIZE_THREAD__)
#define ALLOMON_PORTABLE_COUNTDOWN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ALLOMON_PORTABLE_COUNTDOWN 1
#endif
#endif
#if !defined(__x86_64__)
#define ALLOMON_PORTABLE_COUNTDOWN 1
#endif

namespace allomon::internal {

// Zero-initialised: the first allocation of a thread takes the slow path, which sets the thread up.
// __thread, not thread_local: no initialisation check in the fast path.
extern __thread std::atomic<int64_t> countdown_words
    __attribute__((visibility("hidden"), ALLOMON_TLS_MODEL));

// Returns true if the countdown went below zero: the caller must then call JudgeAllocationSlow()
// with the same number of words.
#ifndef ALLOMON_PORTABLE_COUNTDOWN
// Two instructions: a `sub` to memory, which other code on its thread cannot interleave, and a
// branch on the sign.  (A compiler may not merge an atomic load, subtraction and store into one
// `sub`; and g++ 12 drops the far branch of an asm goto with outputs.)
static_assert(sizeof(countdown_words) == sizeof(int64_t), "the sub is of the number itself");
__attribute__((always_inline)) inline bool CountDown(uint64_t words) {
  bool below_zero;
  asm("subq %[words], %[countdown]"
      : [countdown] "+m"(countdown_words), "=@ccs"(below_zero)
      : [words] "r"(words));
  return below_zero;
}
#else
// A single operation here as well: a thread that was preempted between a load and a store would
// overwrite a wake-up, and no barrier would reveal it.
inline bool CountDown(uint64_t words) {
  const int64_t taken = static_cast<int64_t>(words);
  return countdown_words.fetch_sub(taken, std::memory_order_relaxed) - taken < 0;
}
#endif

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_SAMPLING_COUNTDOWN_H_
