// Hands out the remembered slots and the value stacks of all threads in pieces, to the threads of a
// parallel collection.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_ROOT_PIECES_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_ROOT_PIECES_H_

#include <algorithm>
#include <cstddef>

#include "runtime/internal/collect/mutator.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

class RootPieces {
 public:
  struct Piece {
    Slot** logged = nullptr;  // slots of old objects
    Slot* slots = nullptr;    // or roots
    size_t count = 0;         // 0: nothing is left
  };

  // Begins with the mutators from `first` on, which stand.
  explicit RootPieces(const Mutator* first) : mutator_(first) {}

  Piece Take() {
    const allomon::internal::MutexHolder hold(mutex_);
    for (; mutator_ != nullptr; mutator_ = mutator_->next, range_ = at_ = 0, in_log_ = true) {
      const Piece piece = TakeOfMutator();
      if (piece.count != 0) return piece;
    }
    return {};
  }

 private:
  // The objects of adjacent slots often are neighbours, so longer pieces have fewer ends at which
  // two threads meet.
  static constexpr size_t kMostInPiece = 2048;

  size_t TakeUpTo(size_t end) ALLOMON_REQUIRES(mutex_) {
    const size_t count = std::min(kMostInPiece, end - at_);
    at_ += count;
    return count;
  }

  Piece TakeOfMutator() ALLOMON_REQUIRES(mutex_) {
    const size_t logged = static_cast<size_t>(mutator_->window->log_top - mutator_->log);
    if (in_log_ && at_ < logged) {
      Slot** const entries = mutator_->log + at_;
      return {entries, nullptr, TakeUpTo(logged)};
    }
    if (in_log_) at_ = 0;
    in_log_ = false;
    for (; range_ < mutator_->ranges.size(); ++range_, at_ = 0) {
      const RootRange& range = mutator_->ranges[range_];
      if (at_ >= *range.count) continue;
      Slot* const slots = range.slots + at_;
      return {nullptr, slots, TakeUpTo(*range.count)};
    }
    return {};
  }

  allomon::internal::Mutex mutex_;
  const Mutator* mutator_ ALLOMON_GUARDED_BY(mutex_);
  bool in_log_ ALLOMON_GUARDED_BY(mutex_) = true;
  size_t range_ ALLOMON_GUARDED_BY(mutex_) = 0;
  size_t at_ ALLOMON_GUARDED_BY(mutex_) = 0;  // in the log, or in the range
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_ROOT_PIECES_H_
