#include "allocator/heap_usage.h"

#include "allocator/guard/guarded_pool.h"
#include "allocator/range/sampled_range.h"
#include "allomon_backend.h"

namespace allomon::internal {
namespace {

backend::Usage UsageOfRange() {
  const SampledRange::Usage range = TheSampledRange().ReadUsage();
  backend::Usage usage;
  usage.used_bytes = range.used_bytes;
  usage.committed_bytes = range.committed_bytes;
  usage.large_blocks = range.runs;
  usage.large_bytes = range.run_bytes;
  return usage;
}

// A guarded block occupies a whole page.
backend::Usage UsageOfGuard() {
  backend::Usage usage;
  usage.used_bytes = TheGuardedPool().live() * TheGuardedPool().page_bytes();
  usage.committed_bytes = usage.used_bytes;
  return usage;
}

}  // namespace

backend::Usage ReadHeapUsage() {
  backend::Usage usage = backend::ReadUsage();
  usage += UsageOfRange();
  usage += UsageOfGuard();
  return usage;
}

HeapPages ReadHeapPages([[maybe_unused]] char* room, [[maybe_unused]] size_t room_bytes) {
  HeapPages heap;
#ifdef ALLOMON_BACKEND_READS_PAGES
  const bool is_read = backend::ReadPageUsage(room, room_bytes, &heap.pages);
  heap.known = is_read ? HeapPages::Known::kYes : HeapPages::Known::kUnreadable;
  const backend::Usage range = UsageOfRange();
  heap.pages.live_bytes += range.used_bytes + range.large_bytes + UsageOfGuard().used_bytes;
  // Other threads may take blocks between the two readings.
  if (range.used_bytes < range.committed_bytes) {
    heap.sampled_free_bytes = range.committed_bytes - range.used_bytes;
  }
#endif
  return heap;
}

}  // namespace allomon::internal
