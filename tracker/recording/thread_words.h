// What the threads of a recording have allocated until now: looked up where another thread frees a
// block, so that the block's age is right.
//
// Guarded by the recorder's lock; a thread takes itself out when it ends.
#ifndef ALLOMON_TRACKER_RECORDING_THREAD_WORDS_H_
#define ALLOMON_TRACKER_RECORDING_THREAD_WORDS_H_

#include <cstdint>

#include "tracker/base/own_memory.h"
#include "tracker/core/thread_state.h"
#include "tracker/sampling/countdown.h"
#include "tracker/recording/threads.h"

namespace allomon::recording {

class ThreadWords {
 public:
  ThreadWords() = default;
  ~ThreadWords() { Clear(); }
  ThreadWords(const ThreadWords&) = delete;
  ThreadWords& operator=(const ThreadWords&) = delete;

  // The calling thread has the number.  Without own memory it is not entered.
  void Enter(uint32_t number) {
    if (known_ == nullptr) {
      known_ = static_cast<Known*>(internal::OwnMemory::Map(kMostThreads * sizeof(Known)));
    }
    if (known_ == nullptr || number >= kMostThreads) return;
    known_[number] = {&internal::CurrentThread(), &internal::countdown_words};
  }
  void Leave(uint32_t number) {
    if (known_ != nullptr && number < kMostThreads) known_[number] = {};
  }
  void Clear() {
    if (known_ != nullptr) internal::OwnMemory::Unmap(known_, kMostThreads * sizeof(Known));
    known_ = nullptr;
  }

  // Words of malloc that the thread has allocated since the session began; false if it is unknown.
  bool Find(uint32_t number, internal::SessionId session, uint64_t* words) const {
    if (known_ == nullptr || number >= kMostThreads) return false;
    const Known& known = known_[number];
    if (known.thread == nullptr) return false;
    *words = internal::PassedWords(*known.thread, *known.countdown, session);
    return true;
  }

 private:
  struct Known {
    const internal::ThreadState* thread;  // null: not entered
    const std::atomic<int64_t>* countdown;
  };
  Known* known_ = nullptr;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_THREAD_WORDS_H_
