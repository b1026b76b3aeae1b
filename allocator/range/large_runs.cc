#include "allocator/range/large_runs.h"

#include <sys/mman.h>

#include <algorithm>

#include "allocator/range/range_memory.h"
#include "tracker/base/check.h"
#include "tracker/base/page_size.h"

namespace allomon::internal {
namespace {

// Run descriptors are made readable 4,096 granules (128 MiB of runs) at a time, which are whole
// pages of up to 16 KiB, and 16,384 granules at a time where pages are larger.
constexpr size_t kGranulesOfSmallPages = 4096;
constexpr size_t kGranulesOfLargePages = 16384;

inline size_t MetaGranulesPerCommit() {
  return PageBytes() <= 16384 ? kGranulesOfSmallPages : kGranulesOfLargePages;
}

// A gap left by alignment, if at most this size, is mapped together with the run after it.
constexpr size_t kLargestBridgeBytes = size_t{64} << 20;

size_t RoundUp(size_t value, size_t step) { return (value + step - 1) / step * step; }

// A page of 64 KiB is two granules: what a run has of its last page is no other run's, since pages
// are mapped and given back whole.
size_t GranulesOfPage() { return std::max<size_t>(PageBytes() / LargeRuns::kGranuleBytes, 1); }
size_t EndOfPages(size_t granule) { return RoundUp(granule, GranulesOfPage()); }
size_t StartOfPages(size_t granule) { return granule / GranulesOfPage() * GranulesOfPage(); }

}  // namespace

size_t LargeRuns::MetaBytes(size_t area_bytes) {
  return RoundUp(area_bytes / kGranuleBytes, MetaGranulesPerCommit()) * sizeof(Run);
}

void LargeRuns::Init(uintptr_t base, size_t area_bytes, uintptr_t meta) {
  base_ = base;
  granules_ = area_bytes / kGranuleBytes;
  runs_ = reinterpret_cast<Run*>(meta);
}

uintptr_t LargeRuns::AddressOf(const Run& run) const {
  return base_ + static_cast<uintptr_t>(&run - runs_) * kGranuleBytes;
}

LargeRuns::Run* LargeRuns::RunAt(const void* block) const {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(block) - base_;
  const size_t granule = offset / kGranuleBytes;
  // Acquire pairs with the release in CommitMetaLocked(): the descriptor is readable.
  if (offset % kGranuleBytes != 0 || granule >= committed_meta_.load(std::memory_order_acquire)) {
    return nullptr;
  }
  return &runs_[granule];
}

void* LargeRuns::Allocate(size_t size_bytes, size_t alignment_bytes, bool* zeroed,
                          HandleWord** word) {
  // Any run is aligned to a granule.  A run that needs more alignment has a size that is a power of
  // two and starts at a multiple of it.
  const bool aligned = alignment_bytes > kGranuleBytes;
  const size_t needed = aligned && size_bytes < alignment_bytes ? alignment_bytes : size_bytes;
  uint32_t size_class = StepIndex(needed / kGranuleBytes + (needed % kGranuleBytes != 0));
  while (aligned && (StepUnits(size_class) & (StepUnits(size_class) - 1)) != 0) ++size_class;
  if (size_class >= kClasses) return nullptr;
  const SpinLockHolder hold(growth_lock_);
  Run* run = PopFreeLocked(size_class, aligned);
  if (run == nullptr) run = AllocateFreshLocked(size_class, aligned);
  if (run == nullptr) return nullptr;
  ALLOMON_DCHECK_EQ("inv.slot.word", run->handle.load(std::memory_order_relaxed), 0);
  ALLOMON_DCHECK_LE("inv.run.free", size_bytes, BytesOf(*run));
  *zeroed = !run->dirty;
  run->dirty = true;
  run->handle.store(kPending, std::memory_order_relaxed);
  *word = &run->handle;
  return reinterpret_cast<void*>(AddressOf(*run));
}

LargeRuns::Run* LargeRuns::PopFreeLocked(uint32_t size_class, bool aligned) {
  uint32_t& head = free_[aligned][size_class];
  if (head == 0) return nullptr;
  Run* run = &runs_[head - 1];
  ALLOMON_DCHECK_EQ("inv.run.free", run->size_class, size_class);
  ALLOMON_DCHECK_EQ("inv.run.free", run->aligned, aligned);
  head = run->next_free;
  if (run->dirty) {
    ALLOMON_DCHECK_LE("inv.run.retained", BytesOf(*run), retained_bytes_);
    retained_bytes_ -= BytesOf(*run);
  }
  return run;
}

LargeRuns::Run* LargeRuns::AllocateFreshLocked(uint32_t size_class, bool aligned) {
  const size_t units = StepUnits(size_class);
  size_t first = next_granule_;
  if (aligned) first = RoundUp(base_ / kGranuleBytes + first, units) - base_ / kGranuleBytes;
  if (units > granules_ || first > granules_ - units) return nullptr;
  if (EndOfPages(first + units) > granules_) return nullptr;
  // A small gap left by alignment is mapped, too.  Otherwise each run between two gaps would be a
  // mapping of its own, and the kernel allows a process 65,530 mappings.
  const bool bridged = (first - next_granule_) * kGranuleBytes <= kLargestBridgeBytes;
  const size_t begin = bridged ? next_granule_ : StartOfPages(first);
  const size_t bytes = (EndOfPages(first + units) - begin) * kGranuleBytes;
  if (!CommitMetaLocked(first) || !CommitRangePages(base_ + begin * kGranuleBytes, bytes)) {
    return nullptr;
  }
  next_granule_ = EndOfPages(first + units);
  Run* run = &runs_[first];
  ALLOMON_DCHECK("inv.run.fresh", run->handle == 0 && run->next_free == 0 && !run->dirty);
  ALLOMON_DCHECK_LE("inv.run.fresh", next_granule_, granules_);
  run->size_class = static_cast<uint8_t>(size_class);
  run->aligned = aligned;
  return run;
}

bool LargeRuns::CommitMetaLocked(size_t granule) {
  static_assert(kGranulesOfSmallPages * sizeof(Run) % 16384 == 0);
  static_assert(kGranulesOfLargePages * sizeof(Run) % 65536 == 0);
  const size_t more = MetaGranulesPerCommit();
  size_t committed = committed_meta_.load(std::memory_order_relaxed);
  for (; granule >= committed; committed += more) {
    if (!CommitRangePages(reinterpret_cast<uintptr_t>(&runs_[committed]), more * sizeof(Run))) {
      return false;
    }
    committed_meta_.store(committed + more, std::memory_order_release);
  }
  return true;
}

HandleWord* LargeRuns::Find(const void* block) const {
  Run* run = RunAt(block);
  return run == nullptr ? nullptr : &run->handle;
}

void LargeRuns::Release(HandleWord* word) {
  const SpinLockHolder hold(growth_lock_);
  ALLOMON_DCHECK_EQ("inv.slot.word", word->load(std::memory_order_relaxed), kPending);
  Run& run = *reinterpret_cast<Run*>(word);  // the word is the run's first member
  run.handle.store(0, std::memory_order_relaxed);
  RetainOrReturnLocked(run);
  uint32_t& head = free_[run.aligned][run.size_class];
  run.next_free = head;
  head = static_cast<uint32_t>(&run - runs_) + 1;
}

void LargeRuns::RetainOrReturnLocked(Run& run) {
  const size_t size_bytes = BytesOf(run);
  if (retained_bytes_ + size_bytes <= kMaxRetainedBytes) {
    retained_bytes_ += size_bytes;
    return;
  }
  // Private anonymous pages read as zero after MADV_DONTNEED.
  run.dirty = madvise(reinterpret_cast<void*>(AddressOf(run)), size_bytes, MADV_DONTNEED) != 0;
  if (run.dirty) retained_bytes_ += size_bytes;
}

size_t LargeRuns::RunBytesOf(const void* block) const {
  const Run* run = RunAt(block);
  return run == nullptr ? 0 : BytesOf(*run);
}

}  // namespace allomon::internal
