// Counts the blocks of all threads in the segments of mimalloc 2.0.9.
//
// In its release settings mimalloc does not count all blocks, but each page counts its own.  The
// segments are found among the process's mappings: a segment starts at a multiple of its size, and
// its header holds a word that occurs nowhere else (_mi_ptr_cookie).
#include <sys/mman.h>

#include <cstdint>

#include "allocator/backends/mimalloc/process_memory.h"
#include "allomon_backend.h"
#include "usage_of_mappings.h"

#if ALLOMON_MIMALLOC_IS_INLINED && MI_MALLOC_VERSION == 209

namespace allomon::backend {
namespace {

// A copy of a segment's header: too large for a thread's stack.
class Header {
 public:
  Header()
      : memory_(mmap(nullptr, sizeof(mi_segment_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Header() {
    if (memory_ != MAP_FAILED) munmap(memory_, sizeof(mi_segment_t));
  }
  Header(const Header&) = delete;
  Header& operator=(const Header&) = delete;

  bool Copy(const File& from, uintptr_t address) {
    if (memory_ == MAP_FAILED) return false;
    // Most multiples of the size are not segments; their first bytes show that.
    return from.ReadAt(address, memory_, offsetof(mi_segment_t, slices)) &&
           segment().cookie == _mi_ptr_cookie(reinterpret_cast<void*>(address)) &&
           from.ReadAt(address, memory_, sizeof(mi_segment_t));
  }
  const mi_segment_t& segment() const { return *static_cast<const mi_segment_t*>(memory_); }

 private:
  void* const memory_;
};

size_t CommittedBytes(const mi_segment_t& segment) {
  size_t pieces = 0;
  for (const size_t word : segment.commit_mask.mask) {
    pieces += static_cast<size_t>(__builtin_popcountl(word));
  }
  return pieces * MI_COMMIT_SIZE;
}

void AddHuge(const mi_segment_t& segment, Usage* usage) {
  if (segment.used == 0) return;
  ++usage->large_blocks;
  usage->large_bytes +=
      (segment.segment_slices - segment.segment_info_slices) * MI_SEGMENT_SLICE_SIZE;
}

// Free spans have block size 0; spans that are changing owners have 1.
void AddPages(const mi_segment_t& segment, Usage* usage) {
  usage->committed_bytes += CommittedBytes(segment);
  for (size_t i = segment.segment_info_slices; i < MI_SLICES_PER_SEGMENT;) {
    const mi_slice_t& slice = segment.slices[i];
    if (slice.slice_count == 0) return;
    if (slice.xblock_size > 1) usage->used_bytes += size_t{slice.used} * slice.xblock_size;
    i += slice.slice_count;
  }
}

}  // namespace

Usage ReadUsage() {
  Usage usage;
  Mappings mappings;
  const File memory("/proc/thread-self/mem");
  Header header;
  uintptr_t begin = 0;
  uintptr_t end = 0;
  while (mappings.Next(&begin, &end)) {
    uintptr_t address = (begin + MI_SEGMENT_MASK) & ~uintptr_t{MI_SEGMENT_MASK};
    for (; address < end; address += MI_SEGMENT_SIZE) {
      if (!header.Copy(memory, address)) continue;
      const bool huge = header.segment().kind == MI_SEGMENT_HUGE;
      huge ? AddHuge(header.segment(), &usage) : AddPages(header.segment(), &usage);
    }
  }
  return usage += UsageOfMappings();
}

}  // namespace allomon::backend

#endif
