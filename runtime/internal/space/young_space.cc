#include "runtime/internal/space/young_space.h"

#include <algorithm>

namespace allomon::gc::internal {
namespace {

bool EndsBefore(const YoungSlice* slice, uintptr_t address) { return slice->end() <= address; }

}  // namespace

YoungSpace::~YoungSpace() {
  while (adopted_ != nullptr) YoungSlice::Unmap(std::exchange(adopted_, adopted_->next));
}

bool YoungSpace::Add(YoungSlice* slice) {
  if (slices_.size() == slices_.capacity() && !TryReserve(slices_, slices_.size() * 2 + 8)) {
    return false;
  }
  slices_.insert(std::lower_bound(slices_.begin(), slices_.end(), slice->start(), EndsBefore),
                 slice);
  return true;
}

void YoungSpace::Remove(YoungSlice* slice) {
  slices_.erase(std::find(slices_.begin(), slices_.end(), slice));
}

void YoungSpace::Adopt(YoungSlice* first) {
  while (first != nullptr) {
    YoungSlice* const slice = std::exchange(first, first->next);
    slice->next = adopted_;
    adopted_ = slice;
  }
  ReleaseEmpty();
}

void YoungSpace::ReleaseEmpty() {
  YoungSlice** link = &adopted_;
  while (YoungSlice* const slice = *link) {
    if (slice->stays_bytes() != 0) {
      link = &slice->next;
      continue;
    }
    *link = slice->next;
    Remove(slice);
    YoungSlice::Unmap(slice);
  }
}

YoungSlice* YoungSpace::Find(uintptr_t address) const {
  const auto found = std::lower_bound(slices_.begin(), slices_.end(), address, EndsBefore);
  return found != slices_.end() && (*found)->Contains(address) ? *found : nullptr;
}

size_t YoungSpace::stays_bytes() const {
  size_t bytes = 0;
  for (const YoungSlice* slice : slices_) bytes += slice->stays_bytes();
  return bytes;
}

size_t YoungSpace::old_bytes() const {
  size_t bytes = 0;
  for (const YoungSlice* slice : slices_) bytes += slice->old_bytes();
  return bytes;
}

}  // namespace allomon::gc::internal
