// The threads of a recording: the exact and the estimated allocation of each.
//
// Only the thread itself writes the sums of its allocations; any thread writes those of its freed
// blocks.  Enter() and Leave() are called under the recorder's lock.  AddSample() takes it after 1,
// 2, 4, 8 ... samples of a thread; the rest takes no lock.
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

// A sampled block as the totals of its thread count it.
struct ThreadSample {
  Wide blocks;
  Wide bytes;
  uint64_t nanos;
  uint64_t exact_words;  // allocated by the thread, this block included
  double estimated_words;
  double estimated_words_variance;
  double excess_words;  // estimated_words less the block's own
};

class ThreadTable {
 public:
  // `default_name` is the name of threads without one.
  void Begin(SegmentSource* source, WrittenField<uint32_t> count, const ThreadName& default_name);
  void Clear();

  // Enters the calling thread, which is new.  Returns its number; 0 if there is no room.  Threads
  // beyond kMostThreads share the last record, which has no thread id.
  uint32_t Enter(uint32_t tid, Missing* missing) ALLOMON_REQUIRES(recorder_lock);
  // The calling thread, with this number, ends; it has allocated `exact_words` in all.
  void Leave(uint32_t number, uint64_t exact_words) ALLOMON_REQUIRES(recorder_lock);
  // Called before the thread's memory is released: no other thread reads its words after this.
  void Forget(uint32_t number) ALLOMON_REQUIRES(recorder_lock);

  // Whether several threads share the record.
  static bool IsShared(uint32_t number) { return number == kMostThreads; }

  // Called by the thread with this number.
  __attribute__((always_inline)) void AddSample(uint32_t number, const ThreadSample& sample) {
    if (__builtin_expect(IsShared(number), 0)) return AddSharedSample(sample);
    Own& own = own_.At(number);
    const Written<Thread> file = own.file;
    ALLOMON_DCHECK_LE("inv.recording.words", own.exact_words.load(std::memory_order_relaxed),
                      sample.exact_words);
    const uint64_t samples = own.samples.load(std::memory_order_relaxed) + 1;
    own.samples.store(samples, std::memory_order_relaxed);
    own.exact_words.store(sample.exact_words, std::memory_order_relaxed);
    own.estimated_words += sample.estimated_words;
    own.estimated_words_variance += sample.estimated_words_variance;
    file[&Thread::samples].Store(samples);
    AddOwn(sample.blocks, &own.blocks, file, &Thread::blocks);
    AddOwn(sample.bytes, &own.bytes, file, &Thread::bytes);
    file[&Thread::last_nanos].Store(sample.nanos);
    file[&Thread::exact_words].Store(sample.exact_words);
    file[&Thread::estimated_words].Store(own.estimated_words);
    file[&Thread::estimated_words_variance].Store(own.estimated_words_variance);
    file[&Thread::excess_words].Store(sample.excess_words);
    const bool is_power_of_two = (samples & (samples - 1)) == 0;
    if (__builtin_expect(is_power_of_two, 0)) NoteNameSlow(number, sample, samples == 1);
  }
  // Called by any thread.
  void RemoveBlock(uint32_t number, const Wide& blocks, const Wide& bytes) const {
    Own& own = own_.At(number);
    const Written<Thread> file = own.file;
    file[&Thread::freed_samples].Add(1);
    Add(blocks, &own.freed_blocks, file, &Thread::freed_blocks);
    Add(bytes, &own.freed_bytes, file, &Thread::freed_bytes);
  }
  void NoteTime(uint32_t number, uint64_t nanos) const {
    own_.At(number).file[&Thread::last_nanos].Store(nanos);
  }

  // Returns the words that the thread has allocated since the session began.  `caller` is the
  // calling thread's number.  The count of another thread is accurate to one sampling gap; that of
  // an ended thread includes all words until its end.
  uint64_t WordsOf(uint32_t number, uint32_t caller, internal::SessionId session) const {
    if (__builtin_expect(number == caller, 1)) return OwnWords(number, session);
    return WordsOfOtherSlow(number, session);
  }

  // Number of samples of all threads.  Callers hold the lock.
  uint64_t samples() const;

 private:
  static constexpr uint32_t kManyThreads = UINT32_MAX;

  struct Own {
    // Set while the thread runs and its end will be noticed; see WordsOfOtherSlow().
    std::atomic<const internal::ThreadState*> thread;
    std::atomic<const std::atomic<int64_t>*> countdown;
    std::atomic<uint32_t> readers;
    std::atomic<uint64_t> exact_words;  // at its last sample, or at its end
    // Only the thread itself writes these, so it needs no locked instruction.  Of the shared record
    // only `samples` is used, by any thread.
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

  // Adds to a sum that only the calling thread writes, and copies it to the file.
  static void AddOwn(const Wide& part, Wide* sum, const Written<Thread>& file, Wide Thread::*copy) {
    const uint64_t fraction = sum->fraction + part.fraction;
    sum->whole += part.whole + (fraction >> 32);
    ALLOMON_DCHECK_LE("inv.recording.weight", part.whole, sum->whole);
    file.In(copy, &Wide::whole).Store(sum->whole);
    if (part.fraction == 0) return;
    sum->fraction = static_cast<uint32_t>(fraction);
    file.In(copy, &Wide::fraction).Store(sum->fraction);
  }
  // A thread's name is taken again after 1, 2, 4, 8 ... samples.
  void NoteNameSlow(uint32_t number, const ThreadSample& sample, bool is_first)
      ALLOMON_EXCLUDES(recorder_lock);
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
