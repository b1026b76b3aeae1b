// A table of the blocks that are mappings of their own, with their lengths.
//
// A mapped block is longer than 16 MiB, so at most one starts in a cell of 16 MiB, and a cell needs
// one word: the page at which the block starts, and its number of pages.  The address gives the
// cell: 2,048 leaves of 2,048 cells, for the 64 TiB of addresses whose bit 46 is set.  Leaves are
// mapped on demand, and stay.
//
// Thread safe, without a lock: a cell is written by the owner of the block that starts there, which
// is in the table only while it is mapped (inv.mapped.cell).
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MAPPED_TABLE_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MAPPED_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "tracker/formats/process_map.h"

namespace allomon::backend {

// Adds a mapping.  `start` has bit 46 set, and is a multiple of a page; so is `size_bytes`, which
// exceeds 16 MiB.  Returns false if there is no memory for a leaf, or if the table has blocks of
// other 64 TiB, of which an address space of 48 bits has two with this bit.  Cost: a store; a
// system call for the first block in 32 GiB of addresses.
bool EnterMapping(uintptr_t start, size_t size_bytes);

// Returns the bytes of the mapping that starts at `start`; 0 without one.
size_t BytesOfMapping(uintptr_t start);

// Removes the mapping from the table and returns its bytes; 0 without one.
size_t LeaveMapping(uintptr_t start);

// The bytes of all mapped blocks, and their number.
struct MappedTotal {
  size_t bytes;
  size_t blocks;
};
MappedTotal TotalOfMappings();

// Where the table is, for readers outside of the process.
#if defined(__x86_64__)
extern const process_map::MappedBlocks mapped_blocks __attribute__((visibility("hidden")));
#else
extern process_map::MappedBlocks mapped_blocks __attribute__((visibility("hidden")));
#endif

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MAPPED_TABLE_H_
