// Describes the pages of mimalloc 3.0.1 to processes that count the blocks in them.
#include <cstddef>

#include "allocator/backends/mimalloc/mapped_table.h"
#include "allomon_backend.h"
#include "tracker/formats/process_map.h"

#if ALLOMON_MIMALLOC_IS_INLINED && MI_MALLOC_VERSION == 301

extern "C" {
// Referred to by the allocator, which also stands over backends without a description.
extern const allomon::process_map::HeapLayout allomon_heap_layout
    __attribute__((visibility("hidden")));
}

namespace {

// The beginning of an arena, which no header of mimalloc declares.
struct ArenaBegin {
  mi_memid_t memid;
  mi_subproc_t* subproc;
  size_t slice_count;
  size_t info_slices;
  int numa_node;
  bool is_exclusive;
  int64_t purge_expire;
  void* slices_free;
};

// The bits of an arena's bitmap come after a line of counts, a line of the chunks that have a bit,
// and a byte for each of 512 chunks.
constexpr uint32_t kBitsOffset = 64 + 64 + 512;

constexpr size_t kMemory = offsetof(mi_page_t, memid);

constexpr allomon::process_map::PageTable kPageTable = {
    &_mi_page_map,
    MI_PAGE_MAP_COUNT,
    MI_PAGE_MAP_SUB_COUNT,
    MI_ARENA_SLICE_SIZE,
    sizeof(mi_page_t),
    offsetof(mi_page_t, used),
    offsetof(mi_page_t, capacity),
    offsetof(mi_page_t, reserved),
    offsetof(mi_page_t, block_size),
    offsetof(mi_page_t, page_start),
    0,
    kMemory + offsetof(mi_memid_t, memkind),
    MI_MEM_ARENA,
    MI_MEM_OS,
    MI_MEM_OS_REMAP,
    kMemory + offsetof(mi_memid_t, mem.arena.arena),
    kMemory + offsetof(mi_memid_t, mem.arena.slice_index),
    kMemory + offsetof(mi_memid_t, mem.arena.slice_count),
    kMemory + offsetof(mi_memid_t, mem.os.base),
    kMemory + offsetof(mi_memid_t, mem.os.size),
    offsetof(ArenaBegin, slice_count),
    offsetof(ArenaBegin, info_slices),
    offsetof(ArenaBegin, slices_free),
    kBitsOffset,
};

}  // namespace

const allomon::process_map::HeapLayout allomon_heap_layout = {
    "mimalloc 3.0.1",
    nullptr,
    &kPageTable,
    &allomon::backend::mapped_blocks,
};

#endif
