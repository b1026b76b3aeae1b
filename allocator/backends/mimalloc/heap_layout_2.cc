// Describes the segments of mimalloc 2.0.9 to processes that count the blocks in them.
#include <cstddef>

#include "allocator/backends/mimalloc/mapped_table.h"
#include "allomon_backend.h"
#include "tracker/formats/process_map.h"

#if ALLOMON_MIMALLOC_IS_INLINED && MI_MALLOC_VERSION == 209

extern "C" {
extern mi_heap_t _mi_heap_main;
// Referred to by the allocator, which also stands over backends without a description.
extern const allomon::process_map::HeapLayout allomon_heap_layout
    __attribute__((visibility("hidden")));
}

namespace {

constexpr allomon::process_map::Segments kSegments = {
    &_mi_heap_main.cookie,
    MI_SEGMENT_SIZE,
    MI_SEGMENT_SLICE_SIZE,
    MI_LARGE_OBJ_SIZE_MAX,
    offsetof(mi_segment_t, cookie),
    offsetof(mi_segment_t, kind),
    MI_SEGMENT_HUGE,
    offsetof(mi_segment_t, used),
    offsetof(mi_segment_t, segment_slices),
    offsetof(mi_segment_t, segment_info_slices),
    offsetof(mi_segment_t, slices),
    sizeof(mi_slice_t),
    offsetof(mi_slice_t, slice_count),
    offsetof(mi_slice_t, capacity),
    offsetof(mi_slice_t, used),
    offsetof(mi_slice_t, xblock_size),
    3 * MI_MAX_ALIGN_GUARANTEE,  // mimalloc begins pages of small blocks so
    1024,
};

}  // namespace

const allomon::process_map::HeapLayout allomon_heap_layout = {
    "mimalloc 2.0.9",
    &kSegments,
    nullptr,
    &allomon::backend::mapped_blocks,
};

#endif
