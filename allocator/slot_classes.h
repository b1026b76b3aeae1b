// The small half of the sampled range: spans of equal slots, and a word per slot.
#ifndef ALLOMON_ALLOCATOR_SLOT_CLASSES_H_
#define ALLOMON_ALLOCATOR_SLOT_CLASSES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/handle_word.h"
#include "allocator/size_classes.h"
#include "tracker/heap_client.h"

namespace allomon::internal {

// A slot's word: whose it is.
//   0                  never used
//   1 .. kPending - 1  the handle of the live block
//   kPending           allocated, and not yet or no longer with a handle
//   kFreeBit | next    free; next slot of the class's free list (kEndOfList: none)
using SlotWord = HandleWord;

using heap_client::SpinLock;

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
  using SlotId = uint32_t;  // span * kSlotsPerSpan + index within the span

  static constexpr size_t kSpanBytes = 65536;
  static constexpr uint32_t kSlotsPerSpan = kSpanBytes / kSlotUnitBytes;
  static constexpr uint32_t kFreeBit = uint32_t{1} << 31;
  static_assert(kPending == kFreeBit - 1);
  static constexpr SlotId kEndOfList = kFreeBit - 1;

  struct alignas(64) Class {
    std::atomic<uint64_t> free{kEndOfList};  // tag << 32 | first free slot
    // Under the growth lock: the span that fresh slots come from.
    uint32_t span = 0;
    uint32_t next_index = 0;
    uint32_t end_index = 0;
  };

  // kEndOfList if there is none.
  SlotId PopCached(uint32_t slot_class);
  SlotId PopFree(uint32_t slot_class);
  SlotId AllocateFreshLocked(uint32_t slot_class);
  bool StartSpanLocked(uint32_t slot_class);
  bool CommitSpanLocked(uint32_t span);

  SlotWord& WordOf(SlotId slot) const { return words_[slot]; }
  uint32_t ClassOf(const void* block) const;
  // False if the cache has no room.
  bool PushCached(uint32_t slot_class, SlotId slot);
  void PushFree(uint32_t slot_class, SlotId slot);

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
