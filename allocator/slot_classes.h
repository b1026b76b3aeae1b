// The small half of the sampled range: spans of equal slots, and a word per slot.
#ifndef ALLOMON_ALLOCATOR_SLOT_CLASSES_H_
#define ALLOMON_ALLOCATOR_SLOT_CLASSES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/handle_word.h"
#include "allocator/size_classes.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/tagged_free_list.h"
#include "tracker/heap_client.h"

namespace allomon::internal {

// A slot's word: whose it is.
//   0                  never used
//   1 .. kPending - 1  the handle of the live block
//   kPending           allocated, and not yet or no longer with a handle
//   kFreeBit | next    free; next slot of its list (SlotLinks::kNone: none)
using SlotWord = HandleWord;

using heap_client::SpinLock;

using SlotId = uint32_t;  // span * SlotClasses::kSlotsPerSpan + index within the span

// A free slot's word is its link.  One that has been taken meanwhile has another word, which is
// then no link, and not used.
class SlotLinks {
 public:
  static constexpr uint32_t kFreeBit = uint32_t{1} << 31;
  static constexpr SlotId kNone = kFreeBit - 1;

  explicit SlotLinks(SlotWord* words) : words_(words) {}
  SlotId Next(SlotId slot) const {
    return words_[slot].load(std::memory_order_relaxed) & ~kFreeBit;
  }
  void SetNext(SlotId slot, SlotId next) const {
    words_[slot].store(kFreeBit | next, std::memory_order_relaxed);
  }

 private:
  SlotWord* const words_;
};
static_assert(kPending == SlotLinks::kFreeBit - 1);

class SlotClasses {
 public:
  // Manages [base, base + area_bytes), whose metadata goes to [meta, ...); both are
  // places where pages can be committed.  Before anything else; false if there is no memory.
  bool Init(uintptr_t base, size_t area_bytes, uintptr_t meta);

  // Bytes of metadata for an area of that size.
  static size_t MetaBytes(size_t area_bytes);

  // A block and its word.  Two results and no struct of them: g++ would copy that by a load
  // that spans two stores, which waits for both.
  void* Allocate(uint32_t slot_class, SpinLock& growth_lock, HandleWord** word);
  HandleWord* Find(const void* block) const;  // nullptr if no slot starts there
  void Release(HandleWord* word);
  // Gives back what the thread keeps: it ends.
  void EmptyCache();
  size_t SlotBytesOf(const void* block) const;

  bool Contains(const void* block) const {
    return reinterpret_cast<uintptr_t>(block) - base_ < area_bytes_;
  }

 private:
  static constexpr size_t kSpanBytes = 65536;
  static constexpr uint32_t kSlotsPerSpan = kSpanBytes / kSlotUnitBytes;
  static constexpr SlotId kNone = SlotLinks::kNone;

  struct alignas(64) Class {
    TaggedFreeList<SlotLinks> free;
    // Under the growth lock: the span that fresh slots come from.
    uint32_t span = 0;
    uint32_t next_index = 0;
    uint32_t end_index = 0;
  };

  // kNone if there is none.
  SlotId PopCached(uint32_t slot_class);
  SlotId PopSharedOrFresh(uint32_t slot_class, SpinLock& growth_lock);
  SlotId AllocateFreshLocked(uint32_t slot_class);
  bool StartSpanLocked(uint32_t slot_class);
  bool CommitSpanLocked(uint32_t span);

  SlotWord& WordOf(SlotId slot) const { return words_[slot]; }
  uint32_t ClassOf(const void* block) const;
  // False if the cache has no room.
  bool PushCached(uint32_t slot_class, SlotId slot);
  SlotLinks Links() const { return SlotLinks(words_); }

  void* AddressOf(SlotId slot, uint32_t slot_class) const;

  uintptr_t base_ = 0;
  size_t area_bytes_ = 0;
  SlotWord* words_ = nullptr;
  uint8_t* span_classes_ = nullptr;  // class + 1 of each span; written before publication
  uint32_t next_span_ = 0;           // under the growth lock
  uint32_t committed_spans_ = 0;     // under the growth lock
  uint32_t spans_with_words_ = 0;    // under the growth lock
  Class classes_[kSlotClasses];
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_SLOT_CLASSES_H_
