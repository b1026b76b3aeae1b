// Where a mutator allocates: the holes of its slices, one after the other.
#ifndef ALLOMON_RUNTIME_INTERNAL_NURSERY_H_
#define ALLOMON_RUNTIME_INTERNAL_NURSERY_H_

#include "runtime/internal/window.h"
#include "runtime/internal/young_space.h"
#include "tracker/allocation_clock.h"

namespace allomon::gc::internal {

// The mutator's own, and the collector's while the world is stopped.  The cursor is the window's,
// and goes elsewhere by the clock that profilers read.
class Nursery {
 public:
  Nursery() = default;
  // Unmaps the slices.
  ~Nursery();
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;

  // Takes slices of `size_bytes`: in stress mode two, of which one rests.  False without memory.
  bool Init(Window* window, size_t size_bytes, bool stress);
  // From now on the clock is told when the cursor goes elsewhere; nullptr: it is not.
  void SetClock(AllocationClock* clock) { clock_ = clock; }
  // With the world stopped, once: the heap knows the slices from now on.  False without memory.
  bool Join(YoungSpace& space);
  // The slices pass to the heap.
  void Leave(YoungSpace& space);

  // --- The mutator.

  bool Fits(size_t bytes) const {
    return window_->cursor + bytes <= hole_.end && used_bytes() + bytes <= granted_bytes_;
  }
  // Goes to the next hole that fits; the cursor moves.  False if there is none.
  bool TakeHole(size_t bytes);
  // Bytes from the cursor on that an allocation may reach, the run's end apart.
  size_t room_bytes() const;
  // The limit that lets the slow path see each object that leaves a run.
  static uintptr_t CutAtRun(uintptr_t limit, uintptr_t cursor) {
    const uintptr_t last = (cursor / kRunBytes + 1) * kRunBytes - kWordBytes;
    return limit < last ? limit : last;
  }
  // The cursor has gone on from `start`, over a run's end or not.
  void NotePassed(uintptr_t start) {
    if (start / kRunBytes != window_->cursor / kRunBytes)
      current_->NoteFirstHeader(window_->cursor);
  }

  // --- The collector.

  // The bytes that were allocated since the last collection.
  size_t used_bytes() const { return passed_bytes_ + (window_->cursor - hole_.start); }
  // Covers what is left of the hole, so that the slices can be walked.
  void Close();
  // Behind the evacuation: makes holes of all but the objects for which keep(slice, object).  The
  // cursor is in the first hole.
  template <typename Keep>
  void Reopen(Keep keep) {
    for (YoungSlice* slice = first_; slice != nullptr; slice = slice->next) {
      Rebuild(*slice, keep);
    }
    Rewind();
  }
  // Behind Reopen(): takes or returns slices, until there are `wanted_bytes` of holes if possible.
  // In stress mode the slices change their roles.
  void Resize(YoungSpace& space, size_t wanted_bytes);

  // inv.reserve: so many bytes may be allocated, because so many can be promoted.
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
  // Of all slices.
  template <size_t (YoungSlice::*kBytes)() const>
  size_t Sum() const {
    size_t sum = 0;
    for (YoungSlice* slice = first_; slice != nullptr; slice = slice->next) {
      sum += (slice->*kBytes)();
    }
    return sum;
  }
  bool AddSlice(YoungSpace& space, size_t size_bytes);
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
  size_t passed_bytes_ = 0;  // in the holes before
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

#endif  // ALLOMON_RUNTIME_INTERNAL_NURSERY_H_
