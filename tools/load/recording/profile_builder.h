// Builds one heap profile from the processes of one program.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_PROFILE_BUILDER_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_PROFILE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/load/recording/label_table.h"
#include "tools/load/recording/locations.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/load/recording/stack_tree.h"
#include "tracker/formats/recording.h"

namespace allomon::recording {

class ProfileBuilder {
 public:
  // `names` must outlive the builder.  `reads_perf_maps` has the meaning that it has in Locations.
  // With `keeps_numbers`, samples have the numbers of their live blocks.
  ProfileBuilder(CodeNames* names, bool reads_perf_maps, bool keeps_numbers)
      : locations_(names, reads_perf_maps), keeps_numbers_(keeps_numbers) {}

  // Callers add the process that allocated most first: the profile takes its pid, command and
  // timeline.
  void Add(const Process& process, const RecordingOptions& options = {});

  // Callers call it once, after the names were looked up.
  heap::HeapProfile Finish();

 private:
  struct Key {
    uint32_t node;
    uint32_t labels;  // number in the LabelTable
    uint16_t size_class;
    bool has_header;
    heap::Source source;
    uint32_t type;  // index in types_; 0: not known
    bool operator==(const Key& other) const {
      return node == other.node && labels == other.labels && size_class == other.size_class &&
             has_header == other.has_header && source == other.source && type == other.type;
    }
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      const uint64_t mixed = (uint64_t{key.node} << 32 | key.labels) * 0x9e3779b97f4a7c15u;
      return (mixed ^ mixed >> 32 ^ uint64_t{key.type} << 20 ^ uint64_t{key.size_class} << 4 ^
              static_cast<uint64_t>(key.source) << 1 ^ key.has_header) *
                 0x9e3779b97f4a7c15u >>
             7;
    }
  };

  void AddHead(const Process& process);
  void AddThreads(const Process& process);
  // A stack in the tree, and the type of the blocks that it asked for.
  struct TypedStack {
    uint32_t node;
    uint32_t type;
  };
  uint32_t TypeNumber(std::string_view name);
  std::vector<TypedStack> AddStacks(const Process& process);
  std::vector<uint32_t> AddRows(const Process& process, const std::vector<TypedStack>& stack_of);
  heap::Sample& SampleOf(const Key& key);
  void AddEvents(const Process& process, const std::vector<uint32_t>& sample_of);
  // Moves the live amount of each block with a type to a sample of that type.  Returns the sample
  // of each live block, by its index.
  std::vector<uint32_t> SamplesOfLive(const Process& process, const RecordingOptions& options,
                                      const std::vector<uint32_t>& sample_of);
  void AddAges(const Process& process, const std::vector<uint32_t>& sample_of_live);
  void AddOutlived(const Process& process, const std::vector<uint32_t>& sample_of);
  void AddHeld(const Process& process, const FindHeld& find_held,
               const std::vector<uint32_t>& sample_of);
  void AddUses(const Process& process, const FindUnused& find_unused,
               const std::vector<uint32_t>& sample_of);
  void AddLost(const Process& process, const IsLost& is_lost,
               const std::vector<uint32_t>& sample_of);
  uint64_t MostFrames();

  heap::HeapProfile profile_;
  Locations locations_;
  const bool keeps_numbers_;
  StackTree tree_;
  LabelTable labels_;
  std::vector<std::string> types_ = {""};
  std::unordered_map<std::string, uint32_t> type_numbers_;
  uint64_t type_bytes_ = 0;  // in the samples
  std::unordered_map<Key, uint32_t, Hash> index_of_;
  std::vector<Key> keys_;  // by sample
  uint32_t processes_ = 0;
};

// ---- Ages of blocks, and the estimates that blocks stand for.

heap::Amount AmountOf(const Sum& sum);

// True if the sampler counted one word more than the bytes of the row's blocks.  The bytes of
// managed blocks include the header word, and custom memory has no header.
bool HasHeader(const Process::Row& row);

heap::Source SourceOf(const Process::Row& row);

// Returns the estimate for one sampled block of the row: the block divided by its probability of
// being sampled.
heap::Amount WeightOf(uint64_t size_bytes, const Process::Row& row, double rate);

heap::AgeCell LifetimeOf(const Process::Event& event);
// Returns the age of a live block at the process's last sample or death.
heap::AgeCell AgeOf(const Process& process, const LiveBlock& block);

// Returns the cell of a live block.  A sample lies on a page only if it stays there, so of the
// blocks on pages that are sampled with the probability p, one in p / N / (1 - p + p / N) is a
// sample in place, if one of N samples stays: the block stands for N / p - N + 1.
heap::HeldCell HeldCellOf(const Process& process, const LiveBlock& block, const Held& held);

// Sorts the cells, and merges cells of the same age.
void Merge(std::vector<heap::AgeCell>* cells);

// Sorts the cells, and merges cells of the same size.  Of more than eight sizes, those in one class
// of the allocator become two, which are marked as means.
void Merge(std::vector<heap::SizeCell>* cells);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_PROFILE_BUILDER_H_
