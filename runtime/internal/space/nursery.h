// The part of a heap in which a mutator allocates: the holes of its slices, one after the other.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_NURSERY_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_NURSERY_H_

#include "runtime/internal/space/window.h"
#include "runtime/internal/space/young_space.h"
#include "tracker/allocation_clock.h"

namespace allomon::gc::internal {

// Used by the mutator, and by the collector while the world is stopped.  The cursor lies in the
// window; when it jumps, the clock that profilers read is told.
class Nursery {
 public:
  Nursery() = default;
  // Unmaps the slices.
  ~Nursery();
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;

  // Takes a slice of `size_bytes`; in stress mode another one after each collection.  False without
  // memory.
  bool Init(Window* window, size_t size_bytes, bool stress);
  // The window's words have moved to another one.
  void SetWindow(Window* window) { window_ = window; }
  // Sets the clock that is told when the cursor jumps; nullptr: no clock.
  void SetClock(AllocationClock* clock) { clock_ = clock; }
  // Makes the slices known to the heap.  Called once, while the world is stopped.  False without
  // memory.
  bool Join(YoungSpace& space);
  bool has_joined() const { return joined_; }
  // The slices pass to the heap.
  void Leave(YoungSpace& space);

  // --- The mutator.

  bool Fits(size_t bytes) const {
    return window_->cursor + bytes <= hole_.end && used_bytes() + bytes <= granted_bytes_;
  }
  // Moves the cursor to the next hole that fits; false if no hole does.
  bool TakeHole(size_t bytes);
  // Returns the bytes from the cursor on that an allocation may use, ignoring the end of the run.
  size_t room_bytes() const;
  // Cuts the limit at the run's end, so that the slow path sees each object that leaves a run.
  static uintptr_t CutAtRun(uintptr_t limit, uintptr_t cursor) {
    const uintptr_t last = (cursor / kRunBytes + 1) * kRunBytes - kWordBytes;
    return limit < last ? limit : last;
  }
  // Notes that the cursor has advanced from `start`, perhaps over a run's end.
  void NotePassed(uintptr_t start) {
    if (start / kRunBytes != window_->cursor / kRunBytes)
      current_->NoteFirstHeader(window_->cursor);
  }

  // --- The collector.

  // Returns the bytes allocated since the last collection.
  size_t used_bytes() const { return passed_bytes_ + (window_->cursor - hole_.start); }
  // Fills the rest of the hole, so that the slices can be walked.
  void Close();
  // Called after the evacuation: makes holes of all objects except those for which keep(slice,
  // object).  The cursor moves to the first hole.
  template <typename Keep>
  void Reopen(Keep keep) {
    for (YoungSlice* slice = first_; slice != nullptr; slice = slice->next) {
      Rebuild(*slice, keep);
    }
    Rewind();
  }
  // Called after Reopen(): takes or returns slices, until there are `wanted_bytes` of holes if
  // possible. In stress mode the first slice is a fresh one.
  void Resize(YoungSpace& space, size_t wanted_bytes);

  // inv.reserve: at most this many bytes may be allocated, because as many can be promoted.
  size_t granted_bytes() const { return granted_bytes_; }
  void Grant(size_t bytes) { granted_bytes_ = bytes; }
  // Bytes of all usable holes.
  size_t hole_bytes() const { return Sum<&YoungSlice::hole_bytes>(); }
  size_t size_bytes() const { return size_bytes_; }
  size_t wanted_bytes() const { return wanted_bytes_; }
  YoungSlice* first_slice() const { return first_; }

 private:
  template <typename Keep>
  static void Rebuild(YoungSlice& slice, Keep keep);
  // Sums over all slices.
  template <size_t (YoungSlice::*kBytes)() const>
  size_t Sum() const {
    size_t sum = 0;
    for (YoungSlice* slice = first_; slice != nullptr; slice = slice->next) {
      sum += (slice->*kBytes)();
    }
    return sum;
  }
  bool AddSlice(YoungSpace& space, size_t size_bytes);
  void BeginFreshSlice(YoungSpace& space);
  void Rewind();

  void MoveCursor(uintptr_t to) {
    if (clock_ != nullptr) {
      clock_->MoveTo(to);
    } else {
      window_->cursor = to;
    }
  }

  Window* window_ = nullptr;
  AllocationClock* clock_ = nullptr;
  size_t size_bytes_ = 0;
  size_t wanted_bytes_ = 0;
  bool stress_ = false;
  bool joined_ = false;
  YoungSlice* first_ = nullptr;    // the list
  YoungSlice* current_ = nullptr;  // has the hole
  YoungSlice::Hole hole_ = {0, 0};
  size_t passed_bytes_ = 0;  // bytes passed in earlier holes
  size_t granted_bytes_ = 0;
};

template <typename Keep>
void Nursery::Rebuild(YoungSlice& slice, Keep keep) {
  const bool rests = slice.rests();
  if (rests) slice.Wake();
  slice.Rebuild(keep);
  if (rests) slice.Rest();
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_NURSERY_H_
