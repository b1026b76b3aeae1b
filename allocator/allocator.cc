#include "allocator/allocator.h"

#include "allocator/alloc_path.h"
#include "allocator/guard/guarded_pool.h"
#include "allocator/host/malloc_owner.h"
#include "allocator/host/program_malloc.h"
#include "allocator/range/sampled_range.h"
#include "tracker/base/check.h"

// The linker's names for the start and the end of the section ALLOMON_MALLOC_SECTION.
extern "C" {
extern const char __start_allomon_malloc[] __attribute__((weak, visibility("hidden")));
extern const char __stop_allomon_malloc[] __attribute__((weak, visibility("hidden")));
}

namespace allomon {
namespace {

bool IsPowerOfTwo(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

// Runs before main and before any sample.  Call stacks captured earlier would only show one frame
// of the allocator too many.
__attribute__((constructor(101))) void TellTracker() {
  if (internal::StandsAside() && internal::SeeProgramMalloc != nullptr &&
      internal::SomethingIsAskedFor()) {
    internal::SeeProgramMalloc();
  }
  if (internal::SeesNoMalloc()) return heap_client::AnnounceStandingAside();
  heap_client::AnnounceHeap();
  heap_client::HoldAroundFork(&internal::TheSampledRange().lock());
  heap_client::HoldAroundFork(&internal::TheGuardedPool().lock());
  heap_client::CallAtThreadExit([] { internal::TheSampledRange().EmptyCache(); });
  ALLOMON_DCHECK_LE("inv.malloc.text", reinterpret_cast<uintptr_t>(__start_allomon_malloc),
                    reinterpret_cast<uintptr_t>(__stop_allomon_malloc));
  heap_client::SetAllocatorText(reinterpret_cast<uintptr_t>(__start_allomon_malloc),
                                reinterpret_cast<uintptr_t>(__stop_allomon_malloc));
}

}  // namespace

ALLOMON_MALLOC_SECTION void* SamplingMalloc(size_t size_bytes) {
  return internal::AllocateFast(size_bytes);
}

ALLOMON_MALLOC_SECTION void* SamplingCalloc(size_t count, size_t size_bytes) {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size_bytes, &total)) return nullptr;
  return internal::AllocateZeroedFast(total);
}

ALLOMON_MALLOC_SECTION void* SamplingRealloc(void* block, size_t size_bytes) {
  return block == nullptr ? internal::AllocateFast(size_bytes)
                          : internal::ReallocateFast(block, size_bytes);
}

ALLOMON_MALLOC_SECTION void* SamplingAlignedAlloc(size_t alignment_bytes, size_t size_bytes) {
  if (!IsPowerOfTwo(alignment_bytes)) return nullptr;
  return internal::AllocateAlignedFast(alignment_bytes, size_bytes);
}

ALLOMON_MALLOC_SECTION void SamplingFree(void* block) { internal::FreeFast(block); }

size_t SamplingUsableSize(const void* block) { return internal::UsableSizeOf(block); }

const char* AllocatorBackendName() { return backend::kName; }

uint64_t AllocatorDoubleFrees() { return internal::DoubleFrees(); }

}  // namespace allomon
