// The heap of a process at one moment: its blocks, and what refers to them.
#ifndef ALLOMON_TOOLS_LEAKS_SEARCH_H_
#define ALLOMON_TOOLS_LEAKS_SEARCH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/explain/heap_blocks.h"
#include "tools/explain/in_place_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tools/explain/python_arenas.h"
#include "tools/explain/recorded_blocks.h"
#include "tools/heap/heap_profile.h"
#include "tools/leaks/frozen_fork.h"
#include "tools/leaks/reach.h"
#include "tools/leaks/roots.h"
#include "tools/leaks/snapshot.h"
#include "tools/leaks/stopped_process.h"
#include "tools/pages/object_types.h"
#include "tools/symbols/name_sources.h"
#include "tracker/formats/process_map.h"

namespace allomon::leaks {

// A sampled block that lives.
struct SampledBlock {
  Blocks::Block block;
  uint32_t entry;  // its first entry in the process
};

// A sampled block that nothing refers to.
struct LostBlock {
  size_t sampled;  // its place in Search::sampled()
  bool is_direct;  // no other lost block leads to it
};

// Call Take(), then Mark(), then the others.  One thread.
class Search {
 public:
  explicit Search(uint32_t pid) : process_(pid) {}

  // Stops the process and copies its memory.  With kGoOn, the process stands until it has forked,
  // and goes on while the fork is copied; if it cannot fork, it stands until it is copied.  With
  // kStand it stands until this is destroyed.  Fails with one line.
  enum class After { kGoOn, kStand };
  absl::Status Take(After after = After::kGoOn);
  // Marks what registers, stacks, data and other mappings refer to, through all blocks of the heap.
  // `keeps_referrers`: marker().Referrer() tells the word, and objects in arenas of CPython are
  // blocks; otherwise arenas are roots.
  void Mark(bool keeps_referrers);

  const std::vector<SampledBlock>& sampled() const { return sampled_; }
  bool IsReached(const SampledBlock& sampled) const {
    return blocks_.IsReached(sampled.block.number);
  }

  // Call once, after Mark().
  std::vector<LostBlock> FindLost();

  // Reads the recording: a profile of these blocks alone, by their places in sampled().  Fails with
  // one line.  SampledOf() then tells the place in sampled() for a number of the profile's samples.
  absl::StatusOr<heap::HeapProfile> ProfileOf(const std::vector<size_t>& chosen,
                                              const NameSources& name_sources);
  // Reads the recording: all of it, with Sample::unreachable of the lost blocks, and a note of
  // their number.  Fails with one line.
  absl::StatusOr<heap::HeapProfile> ProfileOfAll(const std::vector<LostBlock>& lost,
                                                 const NameSources& name_sources) const;
  std::optional<size_t> SampledOf(uint32_t live_number) const;
  // The size that was asked for, of a block of that profile.
  uint64_t SizeOf(uint32_t live_number) const;

  const explain::Process& process() const { return process_; }
  const std::vector<explain::Mapping>& mappings() const { return mappings_; }
  const std::vector<explain::Area>& areas() const { return areas_; }
  const std::vector<uint64_t>& stack_pointers() const { return stack_pointers_; }
  bool has_python() const { return !python_.empty(); }  // and its objects are blocks
  pages::PythonTypes& python_types() { return python_types_; }
  const std::vector<explain::Area>& python_stacks() const { return python_stacks_; }
  const Snapshot& snapshot() const { return snapshot_; }
  const Marker& marker() const { return marker_; }
  Blocks& blocks() { return blocks_; }
  const Roots& roots() const { return roots_; }

  // Reads the copy; memory that was not copied, such as code, and that the copy has left out, from
  // the process, which may run on.
  bool ReadMemory(uint64_t address, void* to, size_t size_bytes) const;

  // "; the process stood for 3 ms", and why it was not forked, if it was not.
  std::string StoodText() const;
  // Threads that could not be stopped: their registers are not known.
  uint64_t sleeping_threads() const { return sleeping_threads_; }

 private:
  absl::Status TakeHere(After after);
  absl::Status CopyWhileStopped();
  absl::Status CopyFork(const FrozenFork& fork);
  absl::Status CopyWithoutFork(const FrozenFork& fork);
  absl::Status ReadHeap(const explain::Process& process);
  void KeepRegisters(const StoppedProcess& stopped);
  explain::ReadMemory MemoryReader() const;
  explain::RecordedBlocks NameSampled() const;
  std::vector<Snapshot::Extent> MemoryOfBlocks() const;
  void AddAreas();
  void AddArea(const explain::Area& area);
  void AddTable(const explain::InPlaceBlocks& in_place);
  void AddOwnData();
  void AddBlocksInPlace();
  bool IsInArea(uint64_t address) const;
  void AddPythonStacksOf(const explain::Mapping& mapping);
  void AddFreeListsOf(const explain::Mapping& mapping);
  void MarkFromModules(const std::vector<explain::PythonPool>& pools);
  void AddPythonAreas(const std::vector<explain::PythonPool>& pools);
  void AddRootsOf(size_t number);
  void AddRoots(const std::string& what, uint64_t begin, uint64_t end);
  bool IsStack(size_t number) const;
  uint64_t BeginOfStack(const explain::Mapping& mapping) const;
  uint64_t EndOfDeadStack(size_t number) const;

  const explain::Process process_;
  std::vector<explain::Mapping> mappings_;
  std::vector<explain::Area> areas_;
  process_map::ProcessMap map_ = {};
  process_map::Entries entries_ = {};
  explain::InPlaceBlocks in_place_;
  Snapshot snapshot_;
  std::vector<uint64_t> registers_;
  std::vector<uint64_t> stack_pointers_;
  std::vector<uint64_t> thread_pointers_;
  Blocks blocks_;
  Marker marker_{snapshot_, &blocks_};
  std::vector<SampledBlock> sampled_;
  std::vector<explain::Area> python_;  // pools, and free lists of objects
  std::vector<explain::Area> python_stacks_;
  pages::PythonTypes python_types_{[this](uint64_t address, void* to, size_t size_bytes) {
    return ReadMemory(address, to, size_bytes);
  }};
  Roots roots_;
  std::unique_ptr<StoppedProcess> stopped_;  // null: it goes on
  double stopped_seconds_ = 0;
  std::string not_forked_;
  uint64_t sleeping_threads_ = 0;
  struct Place {
    size_t sampled;
    uint64_t size_bytes;
  };
  std::unordered_map<uint32_t, Place> place_of_;  // of a live block's number
};

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_SEARCH_H_
