// The large half of the sampled range: runs of 32 KiB granules, one block each.
//
// Fresh runs come from the front of what was never used; freed ones go to a list of
// their size.  Runs are not merged: what a list holds back is address space, since the
// memory of all but a few is returned to the kernel.
//
// Every operation takes the lock; sampled blocks of this size cost page faults anyway.
#ifndef ALLOMON_ALLOCATOR_LARGE_RUNS_H_
#define ALLOMON_ALLOCATOR_LARGE_RUNS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/handle_word.h"
#include "allocator/size_classes.h"
#include "tracker/base/spin_lock.h"
#include "tracker/heap_client.h"

namespace allomon::internal {

class LargeRuns {
 public:
  // Manages [base, base + area_bytes) with metadata at [meta, ...), both places where pages
  // can be committed.  Called once, before anything else.
  void Init(uintptr_t base, size_t area_bytes, uintptr_t meta);
  static size_t MetaBytes(size_t area_bytes);

  // *zeroed: the memory is known to be zero.  nullptr when the area is used up.
  void* Allocate(size_t size_bytes, size_t alignment_bytes, bool* zeroed, HandleWord** word,
                 heap_client::SpinLock& lock);
  HandleWord* Find(const void* block) const;  // nullptr if no run starts there
  void Release(HandleWord* word, heap_client::SpinLock& lock);
  size_t RunBytesOf(const void* block) const;

  static constexpr size_t kGranuleBytes = 32768;

 private:
  struct Run {
    HandleWord handle;   // 0: free
    uint32_t next_free;  // granule + 1; under the lock
    uint8_t size_class;  // index for StepUnits, in granules
    bool aligned;        // starts at a multiple of its size
    bool dirty;          // may hold what its last block left; under the lock
  };
  static constexpr uint32_t kClasses = 96;
  // Freed runs keep their memory up to this sum, so that a program that allocates and
  // frees one large buffer in a loop does not fault it in each time.
  static constexpr size_t kMaxRetainedBytes = size_t{32} << 20;

  Run* PopFreeLocked(uint32_t size_class, bool aligned);
  Run* AllocateFreshLocked(uint32_t size_class, bool aligned);
  bool CommitMetaLocked(size_t granule);
  void RetainOrReturnLocked(Run& run);

  Run* RunAt(const void* block) const;  // nullptr if no run starts there
  uintptr_t AddressOf(const Run& run) const;
  size_t BytesOf(const Run& run) const { return StepUnits(run.size_class) * kGranuleBytes; }

  uintptr_t base_ = 0;
  size_t granules_ = 0;
  Run* runs_ = nullptr;  // by first granule
  size_t next_granule_ = 0;
  std::atomic<size_t> committed_meta_{0};  // granules whose Run may be read
  size_t retained_bytes_ = 0;
  uint32_t free_[2][kClasses] = {};  // by aligned; granule + 1
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_LARGE_RUNS_H_
