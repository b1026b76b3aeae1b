// The threads of a recording: what each allocated, exactly and as estimated.
//
// Guarded by the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_THREADS_H_
#define ALLOMON_TRACKER_RECORDING_THREADS_H_

#include <cstdint>

#include "tracker/recording/records.h"
#include "tracker/recording/thread_names.h"

namespace allomon::recording {

// Beyond these, threads share a record.
inline constexpr uint32_t kMostThreads = 65536;

// A sampled block, as its thread's totals see it.
struct ThreadSample {
  Sum block;
  uint64_t nanos;
  uint64_t exact_words;  // since the thread's last sample, this block's included
  uint64_t estimated_words;
  uint64_t estimated_words_variance;
};

class ThreadTable {
 public:
  // Threads that are given no name are called `default_name`.
  void Begin(SegmentSource* source, uint32_t* count, const ThreadName& default_name);
  void Clear() { threads_.Clear(); }

  // The number of the calling thread, which is new; 0 if there is no room.  Beyond kMostThreads,
  // threads share a record without a number of the kernel's.
  uint32_t Enter(uint32_t tid);
  void AddSample(uint32_t number, const ThreadSample& sample);
  void RemoveBlock(uint32_t number, const Sum& block);
  // The calling thread, which is `number`, ends; `exact_words` since its last sample.
  void End(uint32_t number, uint64_t exact_words);

  const Thread& At(uint32_t number) const { return threads_.At(number); }

 private:
  static constexpr uint32_t kManyThreads = UINT32_MAX;

  void TakeName(Thread* thread) const;

  Records<Thread, SegmentKind::kThreads> threads_;
  ThreadName default_name_ = {};
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_THREADS_H_
