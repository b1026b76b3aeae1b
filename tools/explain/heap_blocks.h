// The memory of a process that Allomon knows: its heap, page by page of the backend, the sampled
// blocks, and what Allomon has mapped for itself.  Found and read as formats/process_map.h
// describes, from outside of the process.
#ifndef ALLOMON_TOOLS_EXPLAIN_HEAP_BLOCKS_H_
#define ALLOMON_TOOLS_EXPLAIN_HEAP_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tracker/formats/process_map.h"

namespace allomon::explain {

// What some addresses are used for.
enum class Use {
  kBlocks,         // blocks of one size, live and free ones
  kFreePages,      // the backend keeps them for later blocks
  kBackend,        // the backend's own
  kLargeBlock,     // a live block that is a mapping of its own
  kSampledBlocks,  // of all sizes, live and free ones
  kTables,
  kRecording,
  kGuard,
  kManaged,
  kPython,  // objects in arenas of CPython's
};

struct Area {
  uint64_t begin = 0;
  uint64_t end = 0;
  Use use = Use::kBlocks;
  uint64_t live_bytes = 0;    // of blocks, each as large as its size class
  uint64_t listed_bytes = 0;  // of blocks that are live or in a free list: their memory was written
  uint64_t live_blocks = 0;
  uint64_t large_live_bytes = 0;  // those of blocks of kLargeBytes or more
  // Of kBlocks: the places of blocks, free ones among them.
  uint64_t first_block = 0;
  uint64_t block_bytes = 0;
};

// The rounding of a block of this size or more may be whole pages, which nobody touches.
inline constexpr uint64_t kLargeBytes = 32768;

struct HeapBlocks {
  std::string backend;      // "mimalloc 2.0.9"
  std::vector<Area> areas;  // in the order of their addresses, without overlap
  std::string not_known;    // why blocks of the heap are not counted; "": they are
};

// Sorts, and drops empty areas and those that overlap one before: no page is counted twice,
// whatever the process's memory says.
void MakeDisjoint(std::vector<Area>* areas);

// ---- Sampled blocks, read from a process or from a copy of its memory.

// False unless all bytes can be read.
using ReadMemory = std::function<bool(uint64_t address, void* to, size_t size_bytes)>;

struct SampledBlock {
  uint64_t begin;
  uint64_t size_bytes;  // of its slot or run
  uint32_t entry;       // number of its first entry (process_map::Entries)
};

// Calls visit(block) for the live ones.  Slots come first.
void VisitSampledBlocks(const ReadMemory& read, const process_map::ProcessMap& map,
                        const process_map::SampledBlocks& sampled,
                        const std::function<void(const SampledBlock& block)>& visit);

// Fails if the memory may not be read, or if the process has no Allomon or another version of it;
// the line says which.
absl::StatusOr<process_map::ProcessMap> FindProcessMap(const ProcessFile& memory,
                                                       const std::vector<Mapping>& mappings);

// Fails if the process has no Allomon, or if its memory may not be read; the line says which.
absl::StatusOr<HeapBlocks> FindHeapBlocks(const Process& process,
                                          const std::vector<Mapping>& mappings);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_HEAP_BLOCKS_H_
