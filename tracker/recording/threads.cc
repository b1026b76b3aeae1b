#include "tracker/recording/threads.h"

#include <cstring>

#include "tracker/recording/rows.h"

namespace allomon::recording {
namespace {

bool IsPowerOfTwo(uint64_t number) { return (number & (number - 1)) == 0; }

}  // namespace

void ThreadTable::Begin(SegmentSource* source, uint32_t* count, const ThreadName& default_name) {
  threads_.Begin(source, count);
  default_name_ = default_name;
}

uint32_t ThreadTable::Enter(uint32_t tid) {
  if (threads_.size() == kMostThreads) return kMostThreads;
  Thread thread = {};
  if (threads_.size() == kMostThreads - 1) {
    memcpy(thread.name, "(more threads)", sizeof("(more threads)"));
    thread.tid = kManyThreads;
  } else {
    TakeName(&thread);
    thread.tid = tid;
  }
  return threads_.Add(thread);
}

void ThreadTable::TakeName(Thread* thread) const {
  if (thread->tid == kManyThreads) return;
  const ThreadName own = TakeOwnName();
  const ThreadName& name = own.text[0] != '\0' ? own : default_name_;
  static_assert(sizeof(name.text) == sizeof(thread->name));
  memcpy(thread->name, name.text, sizeof(name.text));
}

void ThreadTable::AddSample(uint32_t number, const ThreadSample& sample) {
  Thread& thread = threads_.At(number);
  if (thread.allocated.samples == 0) thread.first_nanos = sample.nanos;
  thread.last_nanos = sample.nanos;
  thread.exact_words += sample.exact_words;
  thread.estimated_words += sample.estimated_words;
  thread.estimated_words_variance += sample.estimated_words_variance;
  Add(sample.block, &thread.allocated);
  Add(sample.block, &thread.live);
  if (IsPowerOfTwo(thread.allocated.samples)) TakeName(&thread);
}

void ThreadTable::RemoveBlock(uint32_t number, const Sum& block) {
  Subtract(block, &threads_.At(number).live);
}

void ThreadTable::End(uint32_t number, uint64_t exact_words) {
  Thread& thread = threads_.At(number);
  thread.exact_words += exact_words;
  if (thread.tid == kManyThreads) return;
  TakeName(&thread);
  thread.ended = 1;
}

}  // namespace allomon::recording
