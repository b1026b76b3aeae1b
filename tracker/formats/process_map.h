// The layout of a process's description of its memory for other processes: the places of Allomon's
// own mappings, the way to count the blocks of its heap, and the way from a sampled block to its
// record.  `allomon explain`, `allomon leaks`, `allomon report --view=pages` and `--view=unused`
// read it through /proc/PID/mem, so a process does nothing for it and need not be running.
//
// A note (ELF, type kNoteType, owner kNoteOwner) of the module that has Allomon leads to it: its
// bytes are the distance from themselves to the ProcessMap, an int64_t.  A second note of the type
// kInPlaceNoteType leads to the InPlaceMap likewise, one of kCallStubNoteType to the CallStub;
// readers that do not know a type pass it over.  Notes are mapped, so no file is needed.
//
// Writer and reader are on the same machine, so integers are in its byte order.  Pointers are
// addresses in the process.  Plain data; there are no functions here.  The reader trusts nothing.
#ifndef ALLOMON_TRACKER_FORMATS_PROCESS_MAP_H_
#define ALLOMON_TRACKER_FORMATS_PROCESS_MAP_H_

#include <cstdint>

namespace allomon::process_map {

inline constexpr char kNoteOwner[8] = {'A', 'l', 'l', 'o', 'm', 'o', 'n', '\0'};
inline constexpr uint32_t kNoteType = 1;
inline constexpr uint32_t kInPlaceNoteType = 2;
inline constexpr uint32_t kCallStubNoteType = 3;
inline constexpr char kMagic[8] = {'A', 'L', 'L', 'O', 'M', 'A', 'P', '\n'};
inline constexpr uint32_t kVersion = 3;

// Why Allomon has mapped some memory.
enum class Use : uint64_t {
  kTables = 0,     // entries of samples, call stacks, indexes
  kRecording = 1,  // the file of a recording
  kGuard = 2,      // guarded blocks, and their records
  kManaged = 3,    // the space of a managed heap
};

// An entry of the table of own mappings.  `begin` is stored last, and is below 4096 for an entry
// without a mapping.
struct OwnMapping {
  uint64_t begin;
  uint64_t bytes_and_use;  // bytes << 8 | use
};

// The segments of mimalloc 2, for counting live blocks.  A segment begins at a multiple of
// segment_bytes, and its word at cookie_offset is its address xor the word at `cookie`.  From
// slices_offset on it has an entry for each slice.  The first entry of a page counts the page's
// slices, a free page's have a block size of 0; blocks up to `capacity` have been in a free list.
struct Segments {
  const void* cookie;
  uint64_t segment_bytes;
  uint64_t slice_bytes;
  uint64_t largest_block_bytes;  // larger ones have a segment of their own
  uint32_t cookie_offset;
  uint32_t kind_offset;         // uint32_t
  uint32_t huge_kind;           // the kind of a segment with one block
  uint32_t used_offset;         // uint64_t: pages in use
  uint32_t slice_count_offset;  // uint64_t: slices of the segment
  uint32_t info_count_offset;   // uint64_t: of these, slices of the header
  uint32_t slices_offset;
  uint32_t entry_bytes;
  uint32_t entry_count_offset;     // uint32_t: slices of the page
  uint32_t entry_capacity_offset;  // uint16_t
  uint32_t entry_used_offset;      // uint32_t: blocks
  uint32_t entry_size_offset;      // uint32_t: bytes of a block
  // Blocks begin first_block_offset bytes after their page's begin if they have at most that size.
  uint32_t first_block_offset;
  uint32_t most_offset_bytes;
};

// The pages of mimalloc 3, for counting live blocks.  A table has the address of the header of its
// page for every slice of the address space, in parts of part_entries words; the header is at the
// page's begin or in its arena.  The header says what memory the page has: slices of an arena, or a
// mapping.  The table may still lead to pages that were freed.  Offsets are of the header, unless
// they are an arena's.
struct PageTable {
  const void* parts;  // address of a pointer to the parts' addresses, 0 for one that is not there
  uint64_t part_count;
  uint64_t part_entries;
  uint64_t slice_bytes;
  uint32_t header_bytes;
  uint32_t used_offset;         // uint16_t: blocks
  uint32_t capacity_offset;     // uint16_t: blocks that have been in a free list
  uint32_t reserved_offset;     // uint16_t: blocks that the page has room for
  uint32_t block_bytes_offset;  // uint64_t
  uint32_t start_offset;        // uint64_t: the address of the first block
  uint32_t start_unit_bytes;    // 0; else a uint32_t is there: units from the header on
  uint32_t kind_offset;         // uint32_t: where the memory is from
  uint32_t arena_kind;          // slices of an arena
  uint32_t least_mapping_kind;  // from this kind to that one: a mapping
  uint32_t most_mapping_kind;
  uint32_t arena_offset;          // uint64_t: the address of an arena
  uint32_t first_slice_offset;    // uint32_t: number of the page's first slice in the arena
  uint32_t slice_count_offset;    // uint32_t
  uint32_t mapping_offset;        // uint64_t: the address of a mapping
  uint32_t mapping_bytes_offset;  // uint64_t
  uint32_t arena_slices_offset;   // uint64_t: slices of the arena
  uint32_t arena_info_offset;     // uint64_t: of these, slices of its header
  uint32_t arena_free_offset;     // uint64_t: the address of a bitmap of free slices
  uint32_t bits_offset;           // of the bitmap's first byte
};

// Blocks that are mappings of their own.  `leaves` has leaf_count addresses of arrays of cell_count
// words.  A word that is not 0 is a block: its pages << 12 | its first page in the cell.
struct MappedBlocks {
  const void* leaves;
  uint64_t leaf_count;
  uint64_t cell_count;
  uint64_t first_address;  // of the first leaf's first cell
  uint64_t cell_bytes;     // of addresses
};

struct HeapLayout {
  char backend[24];           // "mimalloc 2.0.9"
  const void* segments;       // a Segments, or nullptr
  const void* page_table;     // a PageTable, or nullptr
  const void* mapped_blocks;  // a MappedBlocks
};

// Sampled blocks.  `words` has slots_per_span words for each span of equal slots; a slot lives if
// its word is neither 0 nor has free_bit set.  `span_classes` has a byte for each span, 0: no span
// yet.  A run of granules lives if the word at its entry's beginning is not 0.
struct SampledBlocks {
  uint64_t begin;  // 0: no block was sampled yet
  uint64_t slot_area_bytes;
  const void* words;
  const void* span_classes;
  const void* run_entries;  // one for each granule after the slots
  const void* run_count;    // address of a uint64_t: entries that can be read
  uint64_t end;             // of the tables, the end of all
  uint32_t span_bytes;
  uint32_t slots_per_span;
  uint32_t free_bit;
  uint32_t granule_bytes;
  uint32_t run_entry_bytes;
  uint32_t run_class_offset;  // uint8_t
};

// Entries that sessions keep of sampled blocks.  A slot's or run's word is the number of the
// block's first entry.  Of a recording's entry the value is a serial, the number of a live block in
// the file, its row and its thread, each a uint32_t.
struct Entries {
  const void* segments;  // addresses of arrays of entries, 0 for one that is not there yet
  uint32_t segment_count;
  uint32_t segment_entries;
  uint32_t entry_bytes;
  uint32_t next_offset;  // uint32_t: the number of the block's next entry, or 0
  uint32_t value_offset;
};

// The table of sampled blocks that stay on their ordinary pages: cell_count cells of cell_bytes.  A
// cell has a uint64_t at address_offset, which is the address of a live block if it is neither 0
// nor odd, and a uint32_t at handle_offset, the number of the block's first entry, or 0 while the
// block is being reported.
struct InPlaceBlocks {
  const void* cells;
  const void* without_room;  // address of a uint64_t: blocks that the table had no room for
  uint32_t cell_count;
  uint32_t cell_bytes;
  uint32_t address_offset;
  uint32_t handle_offset;
};

inline constexpr char kInPlaceMagic[8] = {'A', 'L', 'L', 'O', 'P', 'L', 'A', '\n'};
inline constexpr uint32_t kInPlaceVersion = 1;

struct InPlaceMap {
  char magic[8];
  uint32_t version;
  uint32_t size_bytes;  // of this structure
  const void* blocks;   // an InPlaceBlocks; nullptr: the backend keeps none in place
  const void* one_in;   // address of a uint32_t: one of so many followed blocks stays; 0: no block
};

// Instructions with which a debugger may have a stopped thread make a system call.  If the debugger
// is killed meanwhile, the thread goes on there: after the call it returns from a signal
// (rt_sigreturn(2)) to the state that the debugger has written into `room` for this case, where its
// stack pointer leads.  `fork_call` also ends the child of a call that makes one, at once.  The
// process itself never executes them.
struct CallStub {
  char magic[8];
  uint32_t version;
  uint32_t size_bytes;     // of this structure
  const void* fork_call;   // a syscall instruction
  const void* other_call;  // likewise
  void* room;              // at a multiple of 64, zero between two uses
  uint64_t room_bytes;
};

inline constexpr char kCallStubMagic[8] = {'A', 'L', 'L', 'O', 'C', 'A', 'L', '\n'};
inline constexpr uint32_t kCallStubVersion = 1;

inline constexpr uint32_t kSlotClasses = 64;  // at most, and one for no class
inline constexpr uint32_t kRunClasses = 96;

struct ProcessMap {
  char magic[8];
  uint32_t version;
  uint32_t size_bytes;                 // of this structure
  const void* heap_layout;             // a HeapLayout; nullptr: the backend describes none
  const void* own_mappings;            // an array
  const void* own_mapping_count;       // address of a uint64_t: entries that were ever used
  uint64_t own_mapping_room;           // entries of the array; mappings beyond are not in it
  const void* sampled;                 // a SampledBlocks
  uint32_t slot_bytes[kSlotClasses];   // of a span's class + 1
  uint32_t run_granules[kRunClasses];  // of a run's class
  const void* entries;                 // an Entries; nullptr: nothing records
};

}  // namespace allomon::process_map

#endif  // ALLOMON_TRACKER_FORMATS_PROCESS_MAP_H_
