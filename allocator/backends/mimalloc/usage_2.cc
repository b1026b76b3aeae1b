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

// Copies headers of segments into the room that it is given.
class Header {
 public:
  explicit Header(void* room) : room_(room) {}

  bool Copy(const File& from, uintptr_t address) {
    // Most multiples of the size are not segments; their first bytes show that.
    return from.ReadAt(address, room_, offsetof(mi_segment_t, slices)) &&
           segment().cookie == _mi_ptr_cookie(reinterpret_cast<void*>(address)) &&
           from.ReadAt(address, room_, sizeof(mi_segment_t));
  }
  const mi_segment_t& segment() const { return *static_cast<const mi_segment_t*>(room_); }

 private:
  void* const room_;
};

// Returns false if the process's files cannot be read.
template <typename Visit>
bool VisitSegments(void* room, Visit visit) {
  Mappings mappings;
  const File memory("/proc/thread-self/mem");
  Header header(room);
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool has_mappings = false;
  while (mappings.Next(&begin, &end)) {
    has_mappings = true;
    uintptr_t address = (begin + MI_SEGMENT_MASK) & ~uintptr_t{MI_SEGMENT_MASK};
    for (; address < end; address += MI_SEGMENT_SIZE) {
      if (header.Copy(memory, address)) visit(header.segment());
    }
  }
  return has_mappings && memory.is_open();
}

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

size_t CommittedSlices(const mi_segment_t& segment, size_t first, size_t count) {
  static_assert(MI_COMMIT_SIZE == MI_SEGMENT_SLICE_SIZE, "a bit of the mask is a slice");
  size_t slices = 0;
  for (size_t i = first; i < first + count && i < MI_SLICES_PER_SEGMENT; ++i) {
    slices +=
        segment.commit_mask.mask[i / MI_COMMIT_MASK_FIELD_BITS] >> (i % MI_COMMIT_MASK_FIELD_BITS) &
        1;
  }
  return slices;
}

// Blocks up to a page's capacity have been in a free list, which was written into them.
void AddPage(const mi_segment_t& segment, size_t first, const mi_slice_t& page, PageUsage* usage) {
  if (page.xblock_size > 1 && page.used != 0 && page.used <= page.capacity) {
    usage->live_bytes += size_t{page.used} * page.xblock_size;
    usage->free_bytes += size_t{page.capacity - page.used} * page.xblock_size;
  } else {
    usage->kept_bytes += CommittedSlices(segment, first, page.slice_count) * MI_SEGMENT_SLICE_SIZE;
  }
}

void AddPages(const mi_segment_t& segment, PageUsage* usage) {
  for (size_t i = segment.segment_info_slices; i < MI_SLICES_PER_SEGMENT;) {
    const mi_slice_t& slice = segment.slices[i];
    if (slice.slice_count == 0) return;
    AddPage(segment, i, slice, usage);
    i += slice.slice_count;
  }
}

void AddHuge(const mi_segment_t& segment, PageUsage* usage) {
  const size_t bytes =
      (segment.segment_slices - segment.segment_info_slices) * MI_SEGMENT_SLICE_SIZE;
  (segment.used != 0 ? usage->live_bytes : usage->kept_bytes) += bytes;
}

// A header's copy, too large for a thread's stack.
class OwnRoom {
 public:
  OwnRoom()
      : memory_(mmap(nullptr, sizeof(mi_segment_t), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~OwnRoom() {
    if (memory_ != MAP_FAILED) munmap(memory_, sizeof(mi_segment_t));
  }
  OwnRoom(const OwnRoom&) = delete;
  OwnRoom& operator=(const OwnRoom&) = delete;
  void* get() const { return memory_ == MAP_FAILED ? nullptr : memory_; }

 private:
  void* const memory_;
};

}  // namespace

Usage ReadUsage() {
  Usage usage;
  const OwnRoom room;
  if (room.get() != nullptr) {
    VisitSegments(room.get(), [&usage](const mi_segment_t& segment) {
      segment.kind == MI_SEGMENT_HUGE ? AddHuge(segment, &usage) : AddPages(segment, &usage);
    });
  }
  return usage += UsageOfMappings();
}

bool ReadPageUsage(void* room, size_t room_bytes, PageUsage* usage) {
  if (room_bytes < sizeof(mi_segment_t)) return false;
  const bool is_read = VisitSegments(room, [usage](const mi_segment_t& segment) {
    segment.kind == MI_SEGMENT_HUGE ? AddHuge(segment, usage) : AddPages(segment, usage);
  });
  usage->live_bytes += UsageOfMappings().large_bytes;
  return is_read;
}

}  // namespace allomon::backend

#endif
