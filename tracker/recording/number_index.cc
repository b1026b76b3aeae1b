#include "tracker/recording/number_index.h"

#include "tracker/base/check.h"
#include "tracker/base/own_memory.h"

namespace allomon::recording {
namespace {

constexpr size_t kFirstPlaces = 512;

uint64_t* MapPlaces(size_t count) {
  return static_cast<uint64_t*>(internal::OwnMemory::Map(count * sizeof(uint64_t)));
}

}  // namespace

bool NumberIndex::Reserve() {
  const size_t count = places_ == nullptr ? 0 : mask_ + 1;
  if (used_ + 1 <= count / 4 * 3) return true;
  const size_t wanted = count == 0 ? kFirstPlaces : 2 * count;
  uint64_t* const before = places_;
  uint64_t* const fresh = MapPlaces(wanted);
  if (fresh == nullptr) return false;
  places_ = fresh;
  mask_ = wanted - 1;
  for (size_t i = 0; i < count; ++i) {
    if (before[i] != 0) Put(before[i]);
  }
  if (before != nullptr) internal::OwnMemory::Unmap(before, count * sizeof(uint64_t));
  return true;
}

void NumberIndex::Put(uint64_t place) {
  size_t at = (place >> 32) & mask_;
  while (places_[at] != 0) at = (at + 1) & mask_;
  places_[at] = place;
}

void NumberIndex::Insert(uint64_t hash, uint32_t number) {
  ALLOMON_DCHECK_LT("inv.recording.index", used_, mask_ + 1);
  Put(uint64_t{TagOf(hash)} << 32 | number);
  ++used_;
}

void NumberIndex::Clear() {
  if (places_ != nullptr) internal::OwnMemory::Unmap(places_, (mask_ + 1) * sizeof(uint64_t));
  places_ = nullptr;
  mask_ = used_ = 0;
}

}  // namespace allomon::recording
