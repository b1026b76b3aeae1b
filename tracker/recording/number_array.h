// Numbers by a dense index from 0, 0 where none was set: pages of own memory, mapped when they are
// first set.  Guarded by the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_NUMBER_ARRAY_H_
#define ALLOMON_TRACKER_RECORDING_NUMBER_ARRAY_H_

#include <cstddef>
#include <cstdint>

#include "tracker/base/own_memory.h"

namespace allomon::recording {

class NumberArray {
 public:
  NumberArray() = default;
  ~NumberArray() { Clear(); }
  NumberArray(const NumberArray&) = delete;
  NumberArray& operator=(const NumberArray&) = delete;

  uint32_t Get(uint32_t index) const {
    const uint32_t* const page = pages_ == nullptr ? nullptr : PageOf(index);
    return page == nullptr ? 0 : page[index % kPageNumbers];
  }
  // Makes room for the number at `index`; false when own memory is exhausted.
  bool Reserve(uint32_t index) {
    return index < kPageNumbers * kPages &&
           ((pages_ != nullptr && PageOf(index) != nullptr) || MapPage(index));
  }
  // Behind a Reserve() that was granted.
  void Set(uint32_t index, uint32_t number) { PageOf(index)[index % kPageNumbers] = number; }

  void Clear() {
    for (size_t i = 0; pages_ != nullptr && i < kPages; ++i) {
      if (pages_[i] != nullptr) internal::OwnMemory::Unmap(pages_[i], kPageBytes);
    }
    if (pages_ != nullptr) internal::OwnMemory::Unmap(pages_, kPages * sizeof(uint32_t*));
    pages_ = nullptr;
  }

 private:
  static constexpr size_t kPageNumbers = 16384;
  static constexpr size_t kPageBytes = kPageNumbers * sizeof(uint32_t);
  static constexpr size_t kPages = 4096;

  uint32_t* PageOf(uint32_t index) const {
    return index < kPageNumbers * kPages ? pages_[index / kPageNumbers] : nullptr;
  }
  bool MapPage(uint32_t index) {
    if (pages_ == nullptr) {
      pages_ = static_cast<uint32_t**>(internal::OwnMemory::Map(kPages * sizeof(uint32_t*)));
    }
    if (pages_ == nullptr) return false;
    uint32_t*& page = pages_[index / kPageNumbers];
    page = static_cast<uint32_t*>(internal::OwnMemory::Map(kPageBytes));
    return page != nullptr;
  }

  uint32_t** pages_ = nullptr;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_NUMBER_ARRAY_H_
