// The trials of one mutator's managed words: the managed half of the countdown.
//
// A managed heap has no countdown in its allocation path.  The limit of its nursery is placed where
// the next hit will be, so the heap does not notice the words before it; in its slow path the heap
// tells the sampler how many have passed.  The mutator's stream of gaps is its own and independent
// of malloc's on the same thread, so both obey the law by themselves.
//
// The mutator's thread calls Attach() and the rest, or a collector that has stopped it; never
// inside malloc, nor in a signal handler.
#ifndef ALLOMON_TRACKER_CORE_MANAGED_SAMPLER_H_
#define ALLOMON_TRACKER_CORE_MANAGED_SAMPLER_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/registry.h"
#include "tracker/sampling/trial.h"

namespace allomon::internal {

class ManagedSampler {
 public:
  // Makes every later start and stop store 0 into *limit, which must make the thread's next
  // allocation take its slow path.  The fast path never writes the limit, so unlike with malloc's
  // countdown a wake-up can only be lost to the slow path's own store; see stale().
  void Attach(std::atomic<uintptr_t>* limit);
  // Forgets the sessions: the sampler can be attached again, for another thread.
  void Detach();
  bool attached() const { return limit_.words != nullptr; }

  // Whether a start or stop has happened that Refresh() has not seen.  After storing a limit the
  // owner executes a seq_cst fence and calls this; if it is true, the owner stores 0.
  bool stale() const { return active_.epoch != Registry::Get().epoch(); }
  // Takes over the sessions of the current epoch and begins a fresh gap.
  void Refresh();

  // Words that may be allocated before the block with the next hit; kNeverWords while nothing
  // samples.  Never negative between calls.
  int64_t words_left() const { return words_left_; }
  // `words` <= words_left() were allocated, headers included.
  void Pass(uint64_t words) { words_left_ -= static_cast<int64_t>(words); }

  // Holds the trials of one block of `words`, header included.  Returns true and fills
  // *trial if one hit; the gap is then a fresh one.
  bool Draw(uint64_t words, Trial* trial);
  // The same for words that are not to be reported: hits are thrown away.
  void Skip(uint64_t words);

  const ActiveSet& active() const { return active_; }

  // Managed words of this mutator that have stood trial for the session since the last call, up to
  // the last sample.  A thread that attaches again, or to several heaps, adds them up.
  uint64_t TakePassedWords(SessionId session) const {
    return meter_.TakePassedSince(session, words_left_);
  }

 private:
  void BeginGap();

  ActiveSet active_;
  RandomBits bits_;
  int64_t words_left_ = kNeverWords;
  mutable WordMeter meter_;  // what was told of the words does not change the sampling
  WakeLimit limit_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_MANAGED_SAMPLER_H_
