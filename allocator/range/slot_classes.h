// The small half of the sampled range: spans of equal slots, and a word per slot.
#ifndef ALLOMON_ALLOCATOR_RANGE_SLOT_CLASSES_H_
#define ALLOMON_ALLOCATOR_RANGE_SLOT_CLASSES_H_

#include <cstddef>
#include <cstdint>

#include "allocator/range/handle_word.h"
#include "allocator/range/size_classes.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/tagged_free_list.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/formats/process_map.h"

namespace allomon::internal {

// The word of a slot:
//   0                  the slot was never used
//   1 .. kPending - 1  the handle of its live block
//   kPending           allocated; its block has no handle yet, or has lost it
//   kFreeBit | next    free; next slot of its list (SlotLinks::kNone: the last)
using SlotWord = HandleWord;

using SlotId = uint32_t;  // span * SlotClasses::kSlotsPerSpan + index within the span

// The word of a free slot is its link.  The word of a slot that another thread has popped in the
// meantime is no link; TaggedFreeList then discards it.
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
  explicit constexpr SlotClasses(SpinLock& growth_lock) : growth_lock_(growth_lock) {}

  // Manages [base, base + area_bytes), with metadata at [meta, ...).  Pages can be committed in
  // both places.  Called once, before all other functions.  False if there is no memory.
  bool Init(uintptr_t base, size_t area_bytes, uintptr_t meta);

  // Bytes of metadata for an area of that size.
  static size_t MetaBytes(size_t area_bytes);

  // Returns a block and its word; nullptr if the area is full.  The function has two results
  // instead of a struct: g++ would copy a struct by a load that spans two stores, and the load
  // would wait for both.
  void* Allocate(uint32_t slot_class, HandleWord** word) ALLOMON_EXCLUDES(growth_lock_);
  HandleWord* Find(const void* block) const;  // nullptr if no slot starts there
  // The word must be kPending.
  void Release(HandleWord* word);
  // Gives back the slots that the calling thread keeps.  Called by a thread that ends.
  void EmptyCache();
  size_t SlotBytesOf(const void* block) const;

  // Return the bytes of the slots that have a block, and of the mapped spans.  Other threads may
  // run meanwhile.  Cost: a load per slot that was ever used.
  size_t UsedBytes() const ALLOMON_EXCLUDES(growth_lock_);
  size_t CommittedBytes() const ALLOMON_EXCLUDES(growth_lock_);

  // Fills in what concerns slots.
  void Describe(process_map::SampledBlocks* blocks) const;

  bool Contains(const void* block) const {
    return reinterpret_cast<uintptr_t>(block) - base_ < area_bytes_;
  }

 private:
  static constexpr size_t kSpanBytes = 65536;
  static constexpr uint32_t kSlotsPerSpan = kSpanBytes / kSlotUnitBytes;
  static constexpr SlotId kNone = SlotLinks::kNone;

  // Each class has a cache line of its own, so that threads that sample different sizes do not
  // contend.
  struct alignas(64) FreeSlots {
    TaggedFreeList<SlotLinks> list;
  };

  // The span that the fresh slots of a class come from.  The slots from next_index on are unused.
  struct FreshSlots {
    uint32_t span = 0;
    uint32_t next_index = 0;
    uint32_t end_index = 0;
  };

  // Returns kNone if the thread's cache has no slot of the class.
  SlotId PopCached(uint32_t slot_class);
  SlotId PopSharedOrFresh(uint32_t slot_class) ALLOMON_EXCLUDES(growth_lock_);
  SlotId AllocateFreshLocked(uint32_t slot_class) ALLOMON_REQUIRES(growth_lock_);
  bool StartSpanLocked(uint32_t slot_class) ALLOMON_REQUIRES(growth_lock_);
  bool CommitSpanLocked(uint32_t span) ALLOMON_REQUIRES(growth_lock_);
  // Returns false if the thread's cache has no room.
  bool PushCached(uint32_t slot_class, SlotId slot);

  SlotWord& WordOf(SlotId slot) const { return words_[slot]; }
  SlotLinks Links() const { return SlotLinks(words_); }
  // The span must have been started.
  uint32_t ClassOfSpan(size_t span) const;
  uint32_t ClassOf(const void* block) const;
  void* AddressOf(SlotId slot, uint32_t slot_class) const;

  uintptr_t base_ = 0;
  size_t area_bytes_ = 0;
  SlotWord* words_ = nullptr;
  // The class + 1 of each span, 0 before the span is started.  Written under the lock, before a
  // slot of the span is handed out; read without the lock.
  uint8_t* span_classes_ = nullptr;
  FreeSlots free_[kSlotClasses];

  SpinLock& growth_lock_;
  FreshSlots fresh_[kSlotClasses] ALLOMON_GUARDED_BY(growth_lock_);
  uint32_t next_span_ ALLOMON_GUARDED_BY(growth_lock_) = 0;
  uint32_t committed_spans_ ALLOMON_GUARDED_BY(growth_lock_) = 0;
  uint32_t spans_with_words_ ALLOMON_GUARDED_BY(growth_lock_) = 0;
};

// ---- Free slots that a thread caches, so that a sample freed by the thread that allocated it
// needs no locked instruction for its memory.

// Slots for blocks up to 1 KiB are kept, up to 16 of a class: 138 KiB in all.
inline constexpr uint32_t kCachedSlotClasses = SlotClass(1024) + 1;
using SlotCache = ThreadFreeCache<SlotLinks, kCachedSlotClasses, 16>;

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_RANGE_SLOT_CLASSES_H_
