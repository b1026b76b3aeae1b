// The large half of the sampled range: runs of 32 KiB granules, one block each.
//
// Fresh runs come from the front of the unused area; freed runs go to a list of their size.  Runs
// are not merged: a list holds address space and hardly any memory, since the memory of all but a
// few freed runs is returned to the kernel.
//
// Allocate() and Release() take the growth lock; a sampled block of this size costs page faults
// anyway.
#ifndef ALLOMON_ALLOCATOR_RANGE_LARGE_RUNS_H_
#define ALLOMON_ALLOCATOR_RANGE_LARGE_RUNS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/range/handle_word.h"
#include "allocator/range/size_classes.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/formats/process_map.h"

namespace allomon::internal {

class LargeRuns {
 public:
  explicit constexpr LargeRuns(SpinLock& growth_lock) : growth_lock_(growth_lock) {}

  // Manages [base, base + area_bytes) with metadata at [meta, ...); pages can be committed in both
  // places.  Called once, before anything else.
  void Init(uintptr_t base, size_t area_bytes, uintptr_t meta);
  static size_t MetaBytes(size_t area_bytes);

  // *zeroed says that the memory is known to be zero.  nullptr when the area is used up.
  void* Allocate(size_t size_bytes, size_t alignment_bytes, bool* zeroed, HandleWord** word)
      ALLOMON_EXCLUDES(growth_lock_);
  HandleWord* Find(const void* block) const;  // nullptr if no run starts there
  // The word must be kPending.
  void Release(HandleWord* word) ALLOMON_EXCLUDES(growth_lock_);
  size_t RunBytesOf(const void* block) const;

  // Return the bytes of the runs that have a block, with their number, and of the free runs that
  // keep their memory.  Cost: a load per granule that was ever used.
  size_t UsedBytes(size_t* blocks) const ALLOMON_EXCLUDES(growth_lock_);
  size_t RetainedBytes() const ALLOMON_EXCLUDES(growth_lock_);

  // Fills in what concerns runs.
  void Describe(process_map::SampledBlocks* blocks) const;

  static constexpr size_t kGranuleBytes = 32768;
  static constexpr uint32_t kClasses = 96;

 private:
  // size_class and aligned are written once, before the run is handed out.
  struct Run {
    HandleWord handle;   // 0: free, or no run starts here
    uint32_t next_free;  // granule + 1; under the growth lock
    uint8_t size_class;  // index for StepUnits, in granules
    bool aligned;        // starts at a multiple of its own size
    bool dirty;          // may still hold data of its last block; guarded by the growth lock
  };
  // Freed runs keep their memory up to this total, so that a program that allocates and frees one
  // large buffer in a loop does not fault it in each time.
  static constexpr size_t kMaxRetainedBytes = size_t{32} << 20;

  Run* PopFreeLocked(uint32_t size_class, bool aligned) ALLOMON_REQUIRES(growth_lock_);
  Run* AllocateFreshLocked(uint32_t size_class, bool aligned) ALLOMON_REQUIRES(growth_lock_);
  bool CommitMetaLocked(size_t granule) ALLOMON_REQUIRES(growth_lock_);
  void RetainOrReturnLocked(Run& run) ALLOMON_REQUIRES(growth_lock_);

  Run* RunAt(const void* block) const;  // nullptr if no run starts there
  uintptr_t AddressOf(const Run& run) const;
  size_t BytesOf(const Run& run) const { return StepUnits(run.size_class) * kGranuleBytes; }

  uintptr_t base_ = 0;
  size_t granules_ = 0;
  Run* runs_ = nullptr;                    // indexed by first granule
  std::atomic<size_t> committed_meta_{0};  // granules whose Run may be read

  SpinLock& growth_lock_;
  size_t next_granule_ ALLOMON_GUARDED_BY(growth_lock_) = 0;
  size_t retained_bytes_ ALLOMON_GUARDED_BY(growth_lock_) = 0;
  uint32_t free_[2][kClasses] ALLOMON_GUARDED_BY(growth_lock_) = {};  // indexed by aligned; granule
                                                                      // + 1
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_RANGE_LARGE_RUNS_H_
