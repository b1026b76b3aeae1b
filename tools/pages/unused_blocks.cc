#include "tools/pages/unused_blocks.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tools/explain/recorded_blocks.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/pages/process_blocks.h"

namespace allomon::pages {
namespace {

// Returns the number of zero bytes at the end.
size_t ZerosAtEnd(const std::vector<unsigned char>& bytes) {
  const auto used =
      std::find_if(bytes.rbegin(), bytes.rend(), [](unsigned char byte) { return byte != 0; });
  return static_cast<size_t>(used - bytes.rbegin());
}

class Reader {
 public:
  explicit Reader(uint32_t pid) : blocks_(pid) {}

  absl::Status Read();
  absl::StatusOr<heap::HeapProfile> Profile(const NameSources& name_sources);

 private:
  std::optional<recording::Unused> Look(const recording::Process& process, uint32_t number);
  uint64_t ZerosAtEndOf(uint64_t begin, uint64_t end);

  ProcessBlocks blocks_;
  std::vector<ProcessBlocks::Place> sampled_;
  uint64_t read_bytes_ = 0;
  heap::Contents contents_;
};

absl::Status Reader::Read() {
  const absl::Status status = blocks_.Open();
  if (!status.ok()) return status;
  sampled_ = blocks_.ListSampled();
  return blocks_.ReadHeap();
}

// Reading a page that was never touched, or is swapped, would bring it into the process's memory.
uint64_t Reader::ZerosAtEndOf(uint64_t begin, uint64_t end) {
  const uint64_t page = begin / blocks_.process().page_bytes();
  if (!blocks_.process().IsResident(page) || read_bytes_ >= kMostReadBytes) {
    contents_.unread_blocks += 1;
    return 0;
  }
  read_bytes_ += end - begin;
  std::vector<unsigned char> bytes(end - begin);
  return blocks_.ReadMemory(begin, bytes.data(), bytes.size()) ? ZerosAtEnd(bytes) : 0;
}

// Reads pages from the end of the block to its begin.
std::optional<recording::Unused> Reader::Look(const recording::Process& process, uint32_t number) {
  const size_t index = blocks_.Find(process, number);
  if (index == explain::RecordedBlocks::kNone) {
    contents_.unseen_blocks += 1;
    return std::nullopt;
  }
  const ProcessBlocks::Place& block = sampled_[index];
  const uint64_t size_bytes = std::min(process.live[number - 1].size_bytes, block.room_bytes);
  const uint64_t page_bytes = blocks_.process().page_bytes();
  uint64_t untouched = 0, zeros = 0;
  bool is_tail = true;
  for (uint64_t end = block.begin + size_bytes; end > block.begin;) {
    const uint64_t page = (end - 1) / page_bytes;
    const uint64_t begin = std::max(block.begin, page * page_bytes);
    if (!blocks_.process().HasContent(page)) {
      untouched += end - begin;
    } else if (is_tail) {
      const uint64_t found = ZerosAtEndOf(begin, end);
      zeros += found;
      is_tail = found == end - begin;
    }
    end = begin;
  }
  if (zeros < kLeastZeroBytes) zeros = 0;
  contents_.seen_blocks += 1;
  return recording::Unused{static_cast<double>(untouched), static_cast<double>(zeros)};
}

absl::StatusOr<heap::HeapProfile> Reader::Profile(const NameSources& name_sources) {
  recording::RecordingOptions options;
  options.name_sources = name_sources;
  options.find_unused = [this](const recording::Process& process, uint32_t number) {
    return Look(process, number);
  };
  auto profile = blocks_.Profile(options);
  if (profile.ok()) profile->contents = contents_;
  return profile;
}

}  // namespace

absl::StatusOr<heap::HeapProfile> ReadUnusedBlocks(const std::string& process,
                                                   const NameSources& name_sources) {
  return ReadProcess<Reader>(process, name_sources);
}

}  // namespace allomon::pages
