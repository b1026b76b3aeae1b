#include "runtime/internal/space/nursery.h"

#include <algorithm>
#include <utility>

#include "tracker/base/check.h"

namespace allomon::gc::internal {

Nursery::~Nursery() {
  while (first_ != nullptr) YoungSlice::Unmap(std::exchange(first_, first_->next));
}

bool Nursery::Init(Window* window, size_t size_bytes, bool stress) {
  window_ = window;
  size_bytes_ = wanted_bytes_ = size_bytes;
  stress_ = stress;
  first_ = YoungSlice::Map(size_bytes);
  if (first_ == nullptr) return false;
  Rewind();
  return true;
}

bool Nursery::Join(YoungSpace& space) {
  for (YoungSlice* slice = first_; slice != nullptr; slice = slice->next) {
    if (space.Add(slice)) continue;
    for (YoungSlice* added = first_; added != slice; added = added->next) space.Remove(added);
    return false;
  }
  return joined_ = true;
}

void Nursery::Leave(YoungSpace& space) {
  for (YoungSlice* slice = first_; slice != nullptr; slice = slice->next) {
    if (slice->rests()) slice->Wake();
  }
  // In a forked child, a thread that had not yet joined is unknown to the heap, so its slices are
  // unmapped.
  if (joined_) space.Adopt(std::exchange(first_, nullptr));
  while (first_ != nullptr) YoungSlice::Unmap(std::exchange(first_, first_->next));
  current_ = nullptr;
  hole_ = {0, 0};
  passed_bytes_ = granted_bytes_ = wanted_bytes_ = 0;
  MoveCursor(0);
}

bool Nursery::TakeHole(size_t bytes) {
  Close();
  uintptr_t from = hole_.end;
  for (YoungSlice* slice = current_; slice != nullptr; slice = slice->next) {
    const YoungSlice::Hole hole = slice->NextHole(slice == current_ ? from : slice->start(), bytes);
    if (hole.start == 0) continue;
    ALLOMON_DCHECK_LE("inv.young.hole", hole.start + bytes, hole.end);
    passed_bytes_ = used_bytes();
    current_ = slice;
    hole_ = hole;
    MoveCursor(hole.start);
    return true;
  }
  return false;
}

size_t Nursery::room_bytes() const {
  return std::min<size_t>(hole_.end - window_->cursor, granted_bytes_ - used_bytes());
}

void Nursery::Close() { YoungSlice::Fill(window_->cursor, hole_.end); }

bool Nursery::AddSlice(YoungSpace& space, size_t size_bytes) {
  YoungSlice* const slice = YoungSlice::Map(size_bytes);
  if (slice == nullptr) return false;
  if (!space.Add(slice)) {
    YoungSlice::Unmap(slice);
    return false;
  }
  YoungSlice** link = &first_;
  while (*link != nullptr) link = &(*link)->next;
  *link = slice;
  return true;
}

// The slices of before rest, as long as objects stay in them.  The fresh one comes first, so a
// stale reference faults until all addresses of the range have been used.  Many objects that stay,
// each in a slice of its own, would use up the range: then the slice is used that has rested
// longest.
void Nursery::BeginFreshSlice(YoungSpace& space) {
  constexpr size_t kMostResting = 16;
  size_t resting = 0;
  for (YoungSlice* slice = first_; slice != nullptr; slice = slice->next) {
    if (slice->stays_bytes() == 0) continue;
    ++resting;
    if (!slice->rests()) slice->Rest();
  }
  YoungSlice* fresh = resting < kMostResting ? YoungSlice::Map(size_bytes_) : nullptr;
  if (fresh != nullptr && !space.Add(fresh)) YoungSlice::Unmap(std::exchange(fresh, nullptr));
  YoungSlice** link = &first_;
  while (YoungSlice* const slice = *link) {
    const bool is_last = slice->next == nullptr;
    if (is_last && fresh == nullptr) break;
    if (slice->stays_bytes() != 0) {
      link = &slice->next;
      continue;
    }
    *link = slice->next;
    space.Remove(slice);
    YoungSlice::Unmap(slice, true);
  }
  if (fresh == nullptr) {
    fresh = std::exchange(*link, nullptr);
    if (fresh->rests()) fresh->Wake();
  }
  fresh->next = std::exchange(first_, fresh);
}

// The slice that Init() took is the first one.  Other slices are returned when no object stays in
// them and they are not needed.
void Nursery::Resize(YoungSpace& space, size_t wanted_bytes) {
  if (!joined_ || first_ == nullptr) return;
  wanted_bytes_ = wanted_bytes;
  if (stress_) BeginFreshSlice(space);
  // Objects of several KiB do not fit between objects that stay, so a quarter of the bytes must be
  // wide holes.
  const size_t wanted_wide_bytes = wanted_bytes / 4;
  size_t bytes = hole_bytes();
  size_t wide = Sum<&YoungSlice::wide_bytes>();
  YoungSlice** link = &first_->next;
  while (YoungSlice* const slice = *link) {
    if (slice->stays_bytes() != 0 || bytes - slice->hole_bytes() < wanted_bytes ||
        wide - slice->wide_bytes() < wanted_wide_bytes) {
      link = &slice->next;
      continue;
    }
    ALLOMON_DCHECK("inv.young.hole", slice->hole_bytes() <= bytes && slice->wide_bytes() <= wide);
    bytes -= slice->hole_bytes();
    wide -= slice->wide_bytes();
    *link = slice->next;
    space.Remove(slice);
    YoungSlice::Unmap(slice);
  }
  if (bytes < wanted_bytes / 4 * 3 || wide < wanted_wide_bytes) {
    const size_t missing = wanted_bytes - std::min(bytes, wanted_bytes);
    AddSlice(space, RoundToSlices(std::max(size_bytes_, missing)));
  }
  Rewind();
}

void Nursery::Rewind() {
  passed_bytes_ = 0;
  current_ = first_;
  ALLOMON_DCHECK_NE("inv.young.hole", current_, nullptr);
  hole_ = {current_->start(), current_->start()};
  MoveCursor(hole_.start);
  TakeHole(0);
}

}  // namespace allomon::gc::internal
