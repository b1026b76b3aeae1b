// The block of the old space in which a mutator makes objects that are born old.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_OLD_WINDOW_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_OLD_WINDOW_H_

#include <cstdint>
#include <utility>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/window.h"

namespace allomon::gc::internal {

// Used by the mutator, and by the collector while the world is stopped.  The cursor and its limit
// lie in the window.
class OldWindow {
 public:
  explicit OldWindow(Window* window) : window_(window) {}

  // The window's words have moved to another one.
  void SetWindow(Window* window) { window_ = window; }

  bool Fits(size_t bytes) const { return bytes <= end_ - window_->old_cursor; }
  uint64_t room_words() const { return (end_ - window_->old_cursor) / kWordBytes; }

  void Open(char* block, size_t size_bytes) {
    window_->old_cursor = window_->old_limit = synced_ = reinterpret_cast<uintptr_t>(block);
    end_ = synced_ + size_bytes;
  }
  // Writes a zero word after the last object, which ends a walk (BlockSpace::CloseHoles).  Words
  // that were not synced are not counted.
  void Close() {
    if (window_->old_cursor != end_) *reinterpret_cast<Word*>(window_->old_cursor) = 0;
    window_->old_cursor = window_->old_limit = synced_ = end_ = 0;
  }

  // inv.limit: this many words, and those up to the nursery's limit, precede the next sample.
  void SetLimit(uint64_t words) { window_->old_limit = window_->old_cursor + words * kWordBytes; }
  // Takes room, which Fits().
  char* Take(size_t bytes) {
    char* const start = reinterpret_cast<char*>(window_->old_cursor);
    window_->old_cursor += bytes;
    return start;
  }
  // IsSynced(): whether no words were taken since the last Sync().  Sync() returns the number of
  // those words.
  bool IsSynced() const { return synced_ == window_->old_cursor; }
  uint64_t Sync() {
    const uintptr_t before = std::exchange(synced_, window_->old_cursor);
    return (synced_ - before) / kWordBytes;
  }

 private:
  Window* window_;
  uintptr_t end_ = 0;  // end of the block
  uintptr_t synced_ = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_OLD_WINDOW_H_
