#include "allocator/range/slot_classes.h"

#include <sys/mman.h>

#include "allocator/range/range_memory.h"
#include "tracker/base/check.h"
#include "tracker/base/page_size.h"
#include "tracker/base/tls.h"
#include "tracker/heap_tools.h"

namespace allomon::internal {
namespace {

constexpr uint32_t kSpansPerCommit = 16;  // 1 MiB: one system call per 16 spans

__thread SlotCache t_cache __attribute__((ALLOMON_TLS_MODEL));

bool Commit(uintptr_t address, size_t size_bytes) {
  if (!CommitRangePages(address, size_bytes)) return false;
  // A huge page for a handful of samples would cost 2 MiB of memory.
  madvise(reinterpret_cast<void*>(address), size_bytes, MADV_NOHUGEPAGE);
  return true;
}

[[maybe_unused]] bool IsUnused(uint32_t word) {
  return word == 0 || (word & SlotLinks::kFreeBit) != 0;
}

}  // namespace

// The metadata: the words of all slots, then the classes of all spans.
size_t SlotClasses::MetaBytes(size_t area_bytes) {
  const size_t spans = area_bytes / kSpanBytes;
  const size_t words = spans * kSlotsPerSpan * sizeof(SlotWord);
  return words + RoundUpToPage(spans);
}

bool SlotClasses::Init(uintptr_t base, size_t area_bytes, uintptr_t meta) {
  base_ = base;
  area_bytes_ = area_bytes;
  const size_t spans = area_bytes / kSpanBytes;
  words_ = reinterpret_cast<SlotWord*>(meta);
  span_classes_ = reinterpret_cast<uint8_t*>(meta + spans * kSlotsPerSpan * sizeof(SlotWord));
  return Commit(reinterpret_cast<uintptr_t>(span_classes_), RoundUpToPage(spans));
}

inline uint32_t SlotClasses::ClassOfSpan(size_t span) const {
  ALLOMON_DCHECK_LE("inv.span.class", span_classes_[span] - 1u, kSlotClasses - 1);
  return span_classes_[span] - 1u;
}

uint32_t SlotClasses::ClassOf(const void* block) const {
  return ClassOfSpan((reinterpret_cast<uintptr_t>(block) - base_) / kSpanBytes);
}

size_t SlotClasses::SlotBytesOf(const void* block) const { return SlotBytes(ClassOf(block)); }

inline void* SlotClasses::AddressOf(SlotId slot, uint32_t slot_class) const {
  const uintptr_t span_start = base_ + slot / kSlotsPerSpan * kSpanBytes;
  return reinterpret_cast<void*>(span_start +
                                 slot % kSlotsPerSpan * kSlotTable.rows[slot_class].bytes);
}

HandleWord* SlotClasses::Find(const void* block) const {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(block) - base_;
  const uintptr_t span = offset / kSpanBytes;
  if (span_classes_[span] == 0) return nullptr;
  const uint32_t slot_class = ClassOfSpan(span);
  const uint32_t in_span = static_cast<uint32_t>(offset % kSpanBytes);
  const uint32_t index = SlotIndex(slot_class, in_span);
  if (index * kSlotTable.rows[slot_class].bytes != in_span) return nullptr;
  return &WordOf(static_cast<SlotId>(span * kSlotsPerSpan + index));
}

inline SlotId SlotClasses::PopCached(uint32_t slot_class) {
  return slot_class < kCachedSlotClasses ? t_cache.Pop(Links(), slot_class) : kNone;
}

// A slot is cached only while the tracker will report the thread's end; otherwise the thread's
// slots would be lost.
inline bool SlotClasses::PushCached(uint32_t slot_class, SlotId slot) {
  return slot_class < kCachedSlotClasses && heap_client::ThreadExitWillBeSeen() &&
         t_cache.Push(Links(), slot_class, slot);
}

void* SlotClasses::Allocate(uint32_t slot_class, HandleWord** word) {
  SlotId slot = PopCached(slot_class);
  if (slot == kNone) slot = PopSharedOrFresh(slot_class);
  if (slot == kNone) return nullptr;
  *word = &WordOf(slot);
  ALLOMON_DCHECK("inv.slot.word", IsUnused((*word)->load(std::memory_order_relaxed)));
  ALLOMON_DCHECK_EQ("inv.span.class", ClassOfSpan(slot / kSlotsPerSpan), slot_class);
  (*word)->store(kPending, std::memory_order_relaxed);
  return AddressOf(slot, slot_class);
}

// Out of line: inlined, it would make Allocate() save six registers for each sample.
__attribute__((noinline)) SlotId SlotClasses::PopSharedOrFresh(uint32_t slot_class) {
  const SlotId slot = free_[slot_class].list.Pop(Links());
  if (slot != kNone) return slot;
  const SpinLockHolder hold(growth_lock_);
  return AllocateFreshLocked(slot_class);
}

void SlotClasses::EmptyCache() {
  for (uint32_t slot_class = 0; slot_class < kCachedSlotClasses; ++slot_class) {
    t_cache.Drain(Links(), slot_class, free_[slot_class].list);
  }
}

SlotId SlotClasses::AllocateFreshLocked(uint32_t slot_class) {
  FreshSlots& fresh = fresh_[slot_class];
  if (fresh.next_index == fresh.end_index && !StartSpanLocked(slot_class)) return kNone;
  ALLOMON_DCHECK_LT("inv.span.class", fresh.next_index, fresh.end_index);
  return fresh.span * kSlotsPerSpan + fresh.next_index++;
}

bool SlotClasses::StartSpanLocked(uint32_t slot_class) {
  const uint32_t span = next_span_;
  if (!CommitSpanLocked(span)) return false;
  ++next_span_;
  ALLOMON_DCHECK_EQ("inv.span.class", span_classes_[span], 0);
  span_classes_[span] = static_cast<uint8_t>(slot_class + 1);
  FreshSlots& fresh = fresh_[slot_class];
  fresh.span = span;
  fresh.next_index = 0;
  fresh.end_index = static_cast<uint32_t>(kSpanBytes / SlotBytes(slot_class));
  return true;
}

bool SlotClasses::CommitSpanLocked(uint32_t span) {
  if (span < committed_spans_) return true;
  if ((uint64_t{span} + kSpansPerCommit) * kSpanBytes > area_bytes_) return false;
  // The words and the slots are each committed only once, even if the second commit fails: a mapped
  // page cannot be mapped again.
  constexpr size_t kWordBytes = kSlotsPerSpan * sizeof(SlotWord);
  const uintptr_t words = reinterpret_cast<uintptr_t>(words_) + span * kWordBytes;
  if (span >= spans_with_words_) {
    if (!Commit(words, kSpansPerCommit * kWordBytes)) return false;
    spans_with_words_ = span + kSpansPerCommit;
  }
  if (!Commit(base_ + uintptr_t{span} * kSpanBytes, kSpansPerCommit * kSpanBytes)) return false;
  committed_spans_ = span + kSpansPerCommit;
  return true;
}

void SlotClasses::Release(HandleWord* word) {
  ALLOMON_DCHECK_EQ("inv.slot.word", word->load(std::memory_order_relaxed), kPending);
  const SlotId slot = static_cast<SlotId>(word - words_);
  const uint32_t slot_class = ClassOfSpan(slot / kSlotsPerSpan);
  if (!PushCached(slot_class, slot)) free_[slot_class].list.Push(Links(), slot);
}

}  // namespace allomon::internal
