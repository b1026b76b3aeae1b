// Internal functions of the tracker that a heap may use, inlined.  heap_client.h is the contract.
#ifndef ALLOMON_TRACKER_HEAP_TOOLS_H_
#define ALLOMON_TRACKER_HEAP_TOOLS_H_

#include "tracker/core/thread_state.h"
#include "tracker/heap_client.h"
#include "tracker/sampling/countdown.h"
#include "tracker/sampling/random.h"

namespace allomon::heap_client {

// Random choices of a heap's own.
using internal::DrawGap;
using internal::GapScale;
using internal::RandomBits;

// Whether the function given to CallAtThreadExit() will run when the calling thread ends.  If not,
// memory that a heap keeps for the thread would be lost.
inline bool ThreadExitWillBeSeen() { return internal::CurrentThread().in_registry(); }

// Returns the words that have stood trial on this thread.  Two readings without an allocation in
// between are equal, unless another thread starts a tracker between them.
inline uint64_t OwnTrialWords() {
  const int64_t left = internal::countdown_words.load(std::memory_order_relaxed);
  return internal::CurrentThread().meter.PassedAt(left);
}

}  // namespace allomon::heap_client

#endif  // ALLOMON_TRACKER_HEAP_TOOLS_H_
