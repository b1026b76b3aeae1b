// An array in own memory whose elements never move.  It is mapped as it is used, and unmapped by
// Clear().  Indexes begin at 0.  It has no destructor, so a global one lives as long as the
// process.
//
// Reserve() is called under a lock of the owner's.  At() of a reserved index may be called by any
// thread that has learnt of the reservation by an acquire: no lock, two loads.  Nothing calls
// malloc.
#ifndef ALLOMON_TRACKER_BASE_OWN_ARRAY_H_
#define ALLOMON_TRACKER_BASE_OWN_ARRAY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/base/own_memory.h"

namespace allomon::internal {

// `Element` is valid when all its bytes are zero.  Tests have pages of few elements.
template <typename Element, uint32_t kMost, uint32_t kPageElements = 4096>
class OwnArray {
 public:
  OwnArray() = default;
  OwnArray(const OwnArray&) = delete;
  OwnArray& operator=(const OwnArray&) = delete;

  // Returns false if own memory is exhausted, or `index` is kMost or more.
  bool Reserve(uint32_t index) {
    if (index >= kMost) return false;
    if (pages_ == nullptr) {
      pages_ = static_cast<std::atomic<Element*>*>(OwnMemory::Map(kListBytes));
      if (pages_ == nullptr) return false;
    }
    std::atomic<Element*>& page = pages_[index / kPageElements];
    if (page.load(std::memory_order_relaxed) != nullptr) return true;
    auto* const fresh = static_cast<Element*>(OwnMemory::Map(kPageBytes));
    // Pairs with the acquire in At(): the page is mapped.
    page.store(fresh, std::memory_order_release);
    return fresh != nullptr;
  }
  // Acquire, as in Find(), though callers have acquired the index by now.
  Element& At(uint32_t index) const {
    ALLOMON_DCHECK("inv.own.reserved", Find(index) != nullptr);
    return pages_[index / kPageElements].load(std::memory_order_acquire)[index % kPageElements];
  }
  // nullptr for an index that was never reserved.  Acquire pairs with the release in Reserve().
  Element* Find(uint32_t index) const {
    if (pages_ == nullptr || index >= kMost) return nullptr;
    Element* const page = pages_[index / kPageElements].load(std::memory_order_acquire);
    return page == nullptr ? nullptr : &page[index % kPageElements];
  }

  // No other thread looks.
  void Clear() {
    for (uint32_t i = 0; pages_ != nullptr && i < kPages; ++i) {
      Element* const page = pages_[i].load(std::memory_order_relaxed);
      if (page != nullptr) OwnMemory::Unmap(page, kPageBytes);
    }
    if (pages_ != nullptr) OwnMemory::Unmap(pages_, kListBytes);
    pages_ = nullptr;
  }

 private:
  static constexpr uint32_t kPages = (kMost + kPageElements - 1) / kPageElements;
  static constexpr size_t kPageBytes = kPageElements * sizeof(Element);
  static constexpr size_t kListBytes = kPages * sizeof(std::atomic<Element*>);

  std::atomic<Element*>* pages_ = nullptr;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_OWN_ARRAY_H_
