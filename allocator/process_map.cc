// Describes this process's memory to other processes (tracker/formats/process_map.h).  A note leads
// to the description.  Nothing here is executed.
#include "tracker/formats/process_map.h"

#include "allocator/in_place.h"
#include "allocator/range/sampled_range.h"
#include "tracker/base/own_mappings.h"

extern "C" {
// The backend's; backends need not have them.
extern const allomon::process_map::HeapLayout allomon_heap_layout
    __attribute__((weak, visibility("hidden")));
extern const allomon::process_map::InPlaceBlocks allomon_in_place_blocks
    __attribute__((weak, visibility("hidden")));
extern const allomon::process_map::ProcessMap allomon_process_map
    __attribute__((visibility("hidden")));
extern const allomon::process_map::InPlaceMap allomon_in_place_map
    __attribute__((visibility("hidden")));
// The recorder's, if the program has one.
extern const allomon::process_map::Entries allomon_entries
    __attribute__((weak, visibility("hidden")));
}

namespace allomon::internal {
namespace {

using process_map::ProcessMap;
using process_map::Use;

static_assert(sizeof(OwnMapping) == sizeof(process_map::OwnMapping));
static_assert(static_cast<uint64_t>(MappingUse::kManaged) == static_cast<uint64_t>(Use::kManaged));
static_assert(kSlotClasses <= process_map::kSlotClasses);
static_assert(LargeRuns::kClasses == process_map::kRunClasses);

constexpr ProcessMap WithSizes(ProcessMap map) {
  for (uint32_t c = 0; c < kSlotClasses; ++c) map.slot_bytes[c + 1] = SlotBytes(c);
  for (uint32_t c = 0; c < process_map::kRunClasses; ++c) {
    const uint64_t granules = StepUnits(c);
    map.run_granules[c] = granules < UINT32_MAX ? static_cast<uint32_t>(granules) : UINT32_MAX;
  }
  return map;
}

}  // namespace
}  // namespace allomon::internal

const allomon::process_map::ProcessMap allomon_process_map = allomon::internal::WithSizes({
    {'A', 'L', 'L', 'O', 'M', 'A', 'P', '\n'},
    allomon::process_map::kVersion,
    sizeof(allomon::process_map::ProcessMap),
    &allomon_heap_layout,
    allomon::internal::own_mappings.entries,
    &allomon::internal::own_mappings.count,
    allomon::internal::OwnMappings::kRoom,
    &allomon::internal::sampled_blocks,
    {},
    {},
    &allomon_entries,
});

const allomon::process_map::InPlaceMap allomon_in_place_map = {
    {'A', 'L', 'L', 'O', 'P', 'L', 'A', '\n'}, allomon::process_map::kInPlaceVersion,
    sizeof(allomon::process_map::InPlaceMap),  &allomon_in_place_blocks,
    &allomon::internal::in_place_one_in,
};

// The linker keeps allocated notes, and the kernel maps them with the rest of the module.
asm(R"(
  .pushsection .note.allomon,"a",@note
  .balign 4
  .long 8, 8, 1
  .asciz "Allomon"
  .quad allomon_process_map - .
  .long 8, 8, 2
  .asciz "Allomon"
  .quad allomon_in_place_map - .
  .popsection
)");
