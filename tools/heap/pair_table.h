// Maps pairs of numbers to numbers: frames by name and line, nodes of a tree by parent and frame.
#ifndef ALLOMON_TOOLS_HEAP_PAIR_TABLE_H_
#define ALLOMON_TOOLS_HEAP_PAIR_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tracker/base/check.h"

namespace allomon::heap {

// A hash table with open addressing.  It is two to four times faster here than std::unordered_map,
// because millions of frames look up pairs that mostly exist.
class PairTable {
 public:
  PairTable() : slots_(kLeastSlots) {}

  // Returns the number of the pair.  A new pair gets `number`.
  uint32_t FindOrAdd(uint32_t first, uint32_t second, uint32_t number) {
    if (2 * used_ >= slots_.size()) Grow();
    ALLOMON_DCHECK_LT("inv.heap.room", 2 * used_, slots_.size());
    ALLOMON_DCHECK_NE("inv.heap.numbers", number, kFree);
    Slot& slot = Find(Key(first, second));
    if (slot.number == kFree) {
      slot = {Key(first, second), number};
      ++used_;
    }
    return slot.number;
  }

 private:
  static constexpr size_t kLeastSlots = 1024;  // a power of two
  static constexpr uint32_t kFree = UINT32_MAX;

  struct Slot {
    uint64_t key = 0;
    uint32_t number = kFree;
  };

  static uint64_t Key(uint32_t first, uint32_t second) { return uint64_t{first} << 32 | second; }

  Slot& Find(uint64_t key) {
    // The upper bits of a product with a large odd number (2^64 by the golden ratio) are mixed
    // best.
    size_t at = static_cast<size_t>((key * 0x9e3779b97f4a7c15u) >> 20) & (slots_.size() - 1);
    while (slots_[at].number != kFree && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void Grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != kFree) Find(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_PAIR_TABLE_H_
