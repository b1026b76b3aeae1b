// Writes recordings for tests, in the format of RECORDING.md, without a recording process.
#ifndef ALLOMON_TESTS_RECORDING_READER_SUPPORT_RECORDING_BUILDER_H_
#define ALLOMON_TESTS_RECORDING_READER_SUPPORT_RECORDING_BUILDER_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tracker/formats/recording.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::recording {

// The life of a block.
enum class Fate { kLives, kDies, kDiesYoung, kIsPromoted };

// One process.  Its members may be changed before the bytes are built, even to values that no
// process writes.
struct RecordedProcess {
  RecordedProcess(uint32_t pid, double rate, const std::string& program);

  TextRef AddText(const std::string& added);

  // Returns the stack's innermost node; frames are given outermost first.
  uint32_t AddStack(const std::vector<uint64_t>& addresses);
  uint32_t AddNamedFrame(const std::string& name_file_line, uint32_t parent);
  uint32_t AddType(const std::string& name, uint32_t parent);
  void AddModule(uint64_t begin, uint64_t end, uint64_t bias, const std::string& path,
                 const std::string& build_id);
  uint32_t AddThread(uint32_t tid, const std::string& name);

  // Sets the labels of the blocks added next: key, zero, value, zero for each label.
  void SetLabels(const std::string& label_text);

  // Sets Row::flags of the rows of blocks added next.  The default is both halves of the sampler.
  void SetFlags(uint8_t flags) { flags_ = flags; }

  // Adds a sampled block, allocated by the first thread; returns its row.
  uint32_t AddBlock(uint32_t node, uint64_t size_bytes, Fate fate, uint8_t log2_bytes = 20,
                    uint8_t log2_nanos = 30);
  // Makes the blocks that are live now the peak, for both halves of the sampler.
  void MarkPeak();
  // Saves the live blocks of a row at the peak of a half, for a row that has changed since.
  void Save(uint32_t row, uint32_t half, uint64_t blocks, uint64_t bytes);

  ProcessRecord record = {};
  std::vector<Node> nodes;
  std::vector<Row> rows;
  std::vector<Event> events;
  std::vector<LiveBlock> live;
  std::vector<Scope> scopes;
  std::vector<Thread> threads;
  std::vector<TimelinePoint> timeline;
  std::vector<ResidentPoint> resident;
  std::vector<Module> modules;
  std::vector<SavedCount> saved;
  std::string text;

 private:
  uint32_t RowOf(uint32_t node, uint64_t size_bytes);

  std::map<std::pair<uint32_t, uint64_t>, uint32_t> node_of_;  // indexed by parent and address
  std::map<std::tuple<uint32_t, uint16_t, uint32_t, uint8_t>, uint32_t> row_of_;  // indexed by the
                                                                                  // flags, too
  std::map<std::string, TextRef> labels_of_;                                      // indexed by text
  TextRef labels_ = {};
  double live_bytes_ = 0;
  uint8_t flags_ = kOfHalf[0] | kOfHalf[1];
};

// Returns the weight of a sampled block: 1 / p for the least size of its class, or with kGreatest
// among the flags for the greatest size.
Sum WeightOf(uint64_t size_bytes, double rate, uint8_t flags = 0);

// Returns the file.  Counts of records are the sizes of the vectors.
std::string BytesOf(const std::vector<RecordedProcess>& processes);

// Returns a program with `stacks` stacks of `depth` frames and some blocks in each; the same for
// each seed.
RecordedProcess RandomProcess(uint32_t pid, uint64_t seed, uint32_t stacks, uint32_t depth);

}  // namespace allomon::recording

#endif  // ALLOMON_TESTS_RECORDING_READER_SUPPORT_RECORDING_BUILDER_H_
