#include "tracker/recording/threads.h"

#include <cstring>

#include "tracker/base/waiting.h"

namespace allomon::recording {

void ThreadTable::Begin(SegmentSource* source, WrittenField<uint32_t> count,
                        const ThreadName& default_name) {
  threads_.Begin(source, count);
  default_name_ = default_name;
}

void ThreadTable::Clear() {
  threads_.Clear();
  own_.Clear();
}

uint32_t ThreadTable::Enter(uint32_t tid, Missing* missing) {
  if (threads_.size() == kMostThreads) {
    missing->Count(Shortage::kThreads);
    return kMostThreads;
  }
  const uint32_t number = threads_.size() + 1;
  ALLOMON_DCHECK_LE("inv.recording.number", number, kMostThreads);
  if (!threads_.Reserve() || !own_.Reserve(number)) return 0;
  Thread record = {};
  record.tid = tid;
  if (IsShared(number)) {
    memcpy(record.name, "(more threads)", sizeof("(more threads)"));
    record.tid = kManyThreads;
    missing->Count(Shortage::kThreads);
  }
  threads_.Add(record);
  own_.At(number).file = threads_.At(number);
  if (IsShared(number)) return number;
  TakeName(number);
  Own& own = own_.At(number);
  own.countdown.store(&internal::countdown_words, std::memory_order_relaxed);
  // Nobody would call Forget() for a thread that has left the registry: its end has been noticed.
  if (!internal::CurrentThread().in_registry()) return number;
  // Pairs with the load in WordsOfOtherSlow(): a thread that sees it also sees the countdown.
  own.thread.store(&internal::CurrentThread());
  return number;
}

void ThreadTable::TakeName(uint32_t number) const {
  const ThreadName given = TakeOwnName();
  const ThreadName& name = given.text[0] != '\0' ? given : default_name_;
  static_assert(sizeof(name.text) == sizeof(Thread::name));
  const Written<Thread> file = own_.At(number).file;
  for (size_t i = 0; i < sizeof(name.text); ++i) file.At(&Thread::name, i).Store(name.text[i]);
}

void ThreadTable::NoteNameSlow(uint32_t number, const ThreadSample& sample, bool is_first) {
  if (is_first) own_.At(number).file[&Thread::first_nanos].Store(sample.nanos);
  const RecorderHold hold;
  TakeName(number);
}

// A shared record has no exact words, so it has no estimate to compare with them either.
void ThreadTable::AddSharedSample(const ThreadSample& sample) const {
  Own& own = own_.At(kMostThreads);
  const Written<Thread> file = own.file;
  if (own.samples.fetch_add(1, std::memory_order_relaxed) == 0) {
    file[&Thread::first_nanos].Store(sample.nanos);
  }
  file[&Thread::last_nanos].Store(sample.nanos);
  file[&Thread::samples].Add(1);
  Add(sample.blocks, &own.shared_blocks, file, &Thread::blocks);
  Add(sample.bytes, &own.shared_bytes, file, &Thread::bytes);
}

void ThreadTable::Leave(uint32_t number, uint64_t exact_words) {
  if (IsShared(number)) return;
  Own& own = own_.At(number);
  const Written<Thread> file = own_.At(number).file;
  ALLOMON_DCHECK_LE("inv.recording.words", own.exact_words.load(std::memory_order_relaxed),
                    exact_words);
  own.exact_words.store(exact_words, std::memory_order_relaxed);
  file[&Thread::exact_words].Store(exact_words);
  file[&Thread::excess_words].Store(0);
  Forget(number);
  TakeName(number);
  file[&Thread::ended].Store(1);
}

// A thread that reads this thread's words counts itself first. So either it sees that the thread is
// gone, or it is waited for here, for the time of four loads.
void ThreadTable::Forget(uint32_t number) {
  Own& own = own_.At(number);
  own.thread.store(nullptr);
  for (uint32_t look = 0; own.readers.load() != 0; ++look) internal::PauseBetweenLooks(look);
}

// Forget() relies on the order of all these operations (seq_cst).
uint64_t ThreadTable::WordsOfOtherSlow(uint32_t number, internal::SessionId session) const {
  Own& own = own_.At(number);
  uint64_t words = 0;
  own.readers.fetch_add(1);
  if (const internal::ThreadState* const thread = own.thread.load()) {
    words = internal::PassedWords(*thread, *own.countdown.load(std::memory_order_relaxed), session);
  }
  // Its release pairs with the load in Forget(): this thread has read.
  [[maybe_unused]] const uint32_t readers = own.readers.fetch_sub(1);
  ALLOMON_DCHECK_NE("inv.recording.reader", readers, 0u);
  const uint64_t known = own.exact_words.load(std::memory_order_relaxed);
  return words > known ? words : known;
}

uint64_t ThreadTable::samples() const {
  uint64_t sum = 0;
  for (uint32_t number = 1; number <= threads_.size(); ++number) {
    sum += own_.At(number).samples.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace allomon::recording
