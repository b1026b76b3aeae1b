// The threads of a recording: what each allocated, exactly and as estimated.
//
// A thread's sums of what it allocated are written by that thread alone, those of what was freed by
// any.  Enter() and Leave() under the recorder's lock; the rest takes none.
#ifndef ALLOMON_TRACKER_RECORDING_THREADS_H_
#define ALLOMON_TRACKER_RECORDING_THREADS_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/thread_state.h"
#include "tracker/recording/missing.h"
#include "tracker/recording/records.h"
#include "tracker/recording/thread_names.h"
#include "tracker/sampling/countdown.h"

namespace allomon::recording {

// A sampled block, as its thread's totals see it.
struct ThreadSample {
  Wide blocks;
  Wide bytes;
  uint64_t nanos;
  uint64_t exact_words;  // of the thread, this block's included
  double estimated_words;
  double estimated_words_variance;
};

class ThreadTable {
 public:
  // Threads that are given no name are called `default_name`.
  void Begin(SegmentSource* source, WrittenField<uint32_t> count, const ThreadName& default_name);
  void Clear();

  // The number of the calling thread, which is new; 0 if there is no room.  Beyond kMostThreads,
  // threads share the last record, which has no number of the kernel's.
  uint32_t Enter(uint32_t tid, Missing* missing) ALLOMON_REQUIRES(recorder_lock);
  // The calling thread, which is `number`, ends; `exact_words` of it in all.
  void Leave(uint32_t number, uint64_t exact_words) ALLOMON_REQUIRES(recorder_lock);
  // The thread's memory goes: no other thread reads its words after this.
  void Forget(uint32_t number) ALLOMON_REQUIRES(recorder_lock);

  // Whether the record is of one thread.
  static bool IsShared(uint32_t number) { return number == kMostThreads; }

  // By the thread that is `number`.
  void AddSample(uint32_t number, const ThreadSample& sample);
  // By any thread.
  void RemoveBlock(uint32_t number, const Wide& blocks, const Wide& bytes) const {
    const Written<Thread> file = own_.At(number).file;
    file[&Thread::freed_samples].Add(1);
    Add(blocks, &own_.At(number).freed_blocks, file, &Thread::freed_blocks);
    Add(bytes, &own_.At(number).freed_bytes, file, &Thread::freed_bytes);
  }
  void NoteTime(uint32_t number, uint64_t nanos) const {
    own_.At(number).file[&Thread::last_nanos].Store(nanos);
  }

  // The words that the thread has allocated since the session began: of another thread than the
  // caller, which is `caller`, to a gap; of one that has ended until its end.
  uint64_t WordsOf(uint32_t number, uint32_t caller, internal::SessionId session) const {
    if (__builtin_expect(number == caller, 1)) return OwnWords(number, session);
    return WordsOfOtherSlow(number, session);
  }

  // Of all threads.  Under the lock.
  uint64_t samples() const;

 private:
  static constexpr uint32_t kManyThreads = UINT32_MAX;

  struct Own {
    // While it runs; see WordsOfOtherSlow().
    std::atomic<const internal::ThreadState*> thread;
    std::atomic<const std::atomic<int64_t>*> countdown;
    std::atomic<uint32_t> readers;
    std::atomic<uint64_t> exact_words;  // as of its last sample, or its end
    // Written by the thread alone, which so adds to them without a locked instruction.  Of the
    // shared record `samples` alone, by any thread.
    std::atomic<uint64_t> samples;
    Wide blocks;
    Wide bytes;
    double estimated_words;
    double estimated_words_variance;
    // Fractions: by any thread.
    std::atomic<uint64_t> freed_blocks;
    std::atomic<uint64_t> freed_bytes;
    std::atomic<uint64_t> shared_blocks;
    std::atomic<uint64_t> shared_bytes;
    Written<Thread> file;
  };

  void AddSharedSample(const ThreadSample& sample) const;
  uint64_t OwnWords(uint32_t number, internal::SessionId session) const {
    const uint64_t words =
        internal::PassedWords(internal::CurrentThread(), internal::countdown_words, session);
    const uint64_t known = own_.At(number).exact_words.load(std::memory_order_relaxed);
    return words > known ? words : known;
  }
  uint64_t WordsOfOtherSlow(uint32_t number, internal::SessionId session) const;

  void TakeName(uint32_t number) const ALLOMON_REQUIRES(recorder_lock);

  Records<Thread, SegmentKind::kThreads> threads_;
  OwnArray<Own, kMostThreads + 1> own_;
  ThreadName default_name_ = {};
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_THREADS_H_
