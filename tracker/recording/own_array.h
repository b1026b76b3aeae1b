// An array of own memory whose elements never move, mapped as it is used.  Indexes are from 0.
//
// Reserve() under the recorder's lock.  At() of a reserved index: any thread, no lock, two loads.
#ifndef ALLOMON_TRACKER_RECORDING_OWN_ARRAY_H_
#define ALLOMON_TRACKER_RECORDING_OWN_ARRAY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/own_memory.h"

namespace allomon::recording {

// A reader takes no more records of one kind (recording_repair.cc).
inline constexpr uint32_t kMostRecords = uint32_t{1} << 25;

// `Element` is valid when all its bytes are zero.
template <typename Element, uint32_t kMost = kMostRecords>
class OwnArray {
 public:
  OwnArray() = default;
  ~OwnArray() { Clear(); }
  OwnArray(const OwnArray&) = delete;
  OwnArray& operator=(const OwnArray&) = delete;

  // False when own memory is exhausted, or `index` is kMost or more.
  bool Reserve(uint32_t index) {
    if (index >= kMost) return false;
    if (pages_ == nullptr) {
      pages_ = static_cast<std::atomic<Element*>*>(internal::OwnMemory::Map(kListBytes));
      if (pages_ == nullptr) return false;
    }
    std::atomic<Element*>& page = pages_[index / kPageElements];
    if (page.load(std::memory_order_relaxed) != nullptr) return true;
    auto* const fresh = static_cast<Element*>(internal::OwnMemory::Map(kPageBytes));
    // Pairs with the acquire in At(): the page is mapped.
    page.store(fresh, std::memory_order_release);
    return fresh != nullptr;
  }
  Element& At(uint32_t index) const {
    return pages_[index / kPageElements].load(std::memory_order_acquire)[index % kPageElements];
  }
  // nullptr for an index that was never reserved.
  Element* Find(uint32_t index) const {
    if (pages_ == nullptr || index >= kMost) return nullptr;
    Element* const page = pages_[index / kPageElements].load(std::memory_order_acquire);
    return page == nullptr ? nullptr : &page[index % kPageElements];
  }

  // No other thread looks.
  void Clear() {
    for (uint32_t i = 0; pages_ != nullptr && i < kPages; ++i) {
      Element* const page = pages_[i].load(std::memory_order_relaxed);
      if (page != nullptr) internal::OwnMemory::Unmap(page, kPageBytes);
    }
    if (pages_ != nullptr) internal::OwnMemory::Unmap(pages_, kListBytes);
    pages_ = nullptr;
  }

 private:
  static constexpr uint32_t kPageElements = 4096;
  static constexpr uint32_t kPages = (kMost + kPageElements - 1) / kPageElements;
  static constexpr size_t kPageBytes = kPageElements * sizeof(Element);
  static constexpr size_t kListBytes = kPages * sizeof(std::atomic<Element*>);

  std::atomic<Element*>* pages_ = nullptr;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_OWN_ARRAY_H_
