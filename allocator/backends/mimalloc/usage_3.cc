// Counts the blocks of all threads in the pages of mimalloc 3.0.1.
//
// In its release settings mimalloc does not count all blocks, but each page counts its own.  The
// page map has the page of every slice (64 KiB) of the address space; the slices of the process's
// mappings are looked up in it.  A freed page stays in the map, so an entry counts only if the
// memory looks like a page, and the slices that follow the page are its own.
#include <cstdint>

#include "allocator/backends/mimalloc/process_memory.h"
#include "allomon_backend.h"
#include "usage_of_mappings.h"

#if ALLOMON_MIMALLOC_IS_INLINED && MI_MALLOC_VERSION == 301

namespace allomon::backend {
namespace {

uintptr_t AddressOf(const void* object) { return reinterpret_cast<uintptr_t>(object); }

// The map from a slice to its page; nullptr for a slice that is not mimalloc's.
class PageMap {
 public:
  explicit PageMap(const File& memory) : memory_(memory) {}

  const mi_page_t* At(uintptr_t slice) {
    const uintptr_t first = slice / kSlices * kSlices;
    if (first != first_) Load(first);
    return pages_[slice - first];
  }

 private:
  static constexpr uintptr_t kSlices = 256;  // 16 MiB of addresses, in 2 KiB of the stack

  void Load(uintptr_t first) {
    first_ = first;
    mi_page_t** part = nullptr;
    const uintptr_t entry = AddressOf(_mi_page_map + first / MI_PAGE_MAP_SUB_COUNT);
    const bool known =
        memory_.ReadAt(entry, &part, sizeof(part)) && part != nullptr &&
        memory_.ReadAt(AddressOf(part + first % MI_PAGE_MAP_SUB_COUNT), pages_, sizeof(pages_));
    if (!known) {
      for (const mi_page_t*& page : pages_) page = nullptr;
    }
  }

  const File& memory_;
  uintptr_t first_ = UINTPTR_MAX;
  const mi_page_t* pages_[kSlices];
};

// Returns the number of slices of the page at `address`; 0 if there is no page.
uintptr_t SlicesOf(const mi_page_t& page, uintptr_t address) {
  const mi_memid_t& id = page.memid;
  if (page.block_size == 0 || page.reserved == 0 || page.used > page.reserved) return 0;
  if (id.memkind == MI_MEM_ARENA) {
    const auto& of = id.mem.arena;
    const uintptr_t start = AddressOf(of.arena) + of.slice_index * MI_ARENA_SLICE_SIZE;
    const bool fits = page.block_size <= of.slice_count * MI_ARENA_SLICE_SIZE / page.reserved;
    return start == address && fits ? of.slice_count : 0;
  }
  const uintptr_t base = AddressOf(id.mem.os.base);
  if (!mi_memid_is_os(id) || address < base || address - base >= id.mem.os.size) return 0;
  const size_t size_bytes = id.mem.os.size - (address - base);
  return page.block_size <= size_bytes / page.reserved ? size_bytes / MI_ARENA_SLICE_SIZE : 0;
}

// A block that fills memory from the kernel alone counts as a large one.
void AddPage(const mi_page_t& page, uintptr_t slices, Usage* usage) {
  if (mi_memid_is_os(page.memid) && page.reserved == 1) {
    usage->large_blocks += page.used;
    usage->large_bytes += page.used * page.block_size;
    return;
  }
  usage->used_bytes += page.used * page.block_size;
  usage->committed_bytes +=
      page.slice_committed != 0 ? page.slice_committed : slices * MI_ARENA_SLICE_SIZE;
}

// Adds the page whose header is in this slice, its first.  Returns the slices that need no further
// look.
uintptr_t AddPageOfSlice(const File& memory, uintptr_t slice, const mi_page_t* page, Usage* usage) {
  const uintptr_t address = AddressOf(page);
  if (page == nullptr || address / MI_ARENA_SLICE_SIZE != slice) return 1;
  alignas(mi_page_t) char bytes[sizeof(mi_page_t)];
  if (!memory.ReadAt(address, bytes, sizeof(bytes))) return 1;
  const auto& copy = *reinterpret_cast<const mi_page_t*>(bytes);
  const uintptr_t slices = SlicesOf(copy, address);
  if (slices == 0) return 1;
  // The page is kept for later blocks, or was freed: then its other slices may belong to other
  // pages by now.
  if (copy.used == 0) {
    usage->committed_bytes += MI_ARENA_SLICE_SIZE;
    return 1;
  }
  AddPage(copy, slices, usage);
  return slices;
}

}  // namespace

Usage ReadUsage() {
  Usage usage;
  Mappings mappings;
  const File memory("/proc/thread-self/mem");
  PageMap map(memory);
  uintptr_t begin = 0;
  uintptr_t end = 0;
  while (mappings.Next(&begin, &end)) {
    const uintptr_t behind = (end + MI_ARENA_SLICE_SIZE - 1) / MI_ARENA_SLICE_SIZE;
    uintptr_t slice = begin / MI_ARENA_SLICE_SIZE;
    while (slice < behind) slice += AddPageOfSlice(memory, slice, map.At(slice), &usage);
  }
  return usage += UsageOfMappings();
}

}  // namespace allomon::backend

#endif
