#include "tools/heap/named_stacks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_set>

#include "tools/text/numbers.h"
#include "tracker/base/check.h"
#include "tracker/names/base_name.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Location;
using heap::Sample;

constexpr double kMost = 9.2e18;  // slightly less than INT64_MAX

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// Numbers frames; equal ones get one number.
class FrameNumbers {
 public:
  FrameNumbers(const HeapProfile& profile, Detail detail, std::vector<Frame>* frames)
      : profile_(profile), detail_(detail), frames_(frames) {}

  uint32_t Of(Frame frame) {
    if (frame.name.empty()) frame.name = "(unnamed)";
    const auto [at, is_new] = numbers_.try_emplace(
        Key(frame.name, frame.file, frame.line, frame.mapping), frames_->size());
    if (is_new) frames_->push_back(std::move(frame));
    return at->second;
  }

  // Returns the frames of a location, outermost first.
  std::vector<uint32_t> Of(const Location& location) {
    if (location.lines.empty()) {
      return {
          Of({UnnamedLocation(profile_, location), "", 0, 0, location.mapping, location.address})};
    }
    std::vector<uint32_t> numbers;
    numbers.reserve(location.lines.size());
    for (auto line = location.lines.rbegin(); line != location.lines.rend(); ++line) {
      const heap::Function& function = profile_.functions[line->function];
      const uint32_t line_number = detail_ == Detail::kLines ? line->line : 0;
      numbers.push_back(Of({function.name, function.file, function.start_line, line_number,
                            location.mapping, location.address}));
    }
    return numbers;
  }

 private:
  using Key = std::tuple<std::string, std::string, uint32_t, uint32_t>;

  const HeapProfile& profile_;
  const Detail detail_;
  std::vector<Frame>* const frames_;
  std::map<Key, uint32_t> numbers_;
};

struct HashFrames {
  size_t operator()(const std::vector<uint32_t>& frames) const {
    uint64_t hash = frames.size();
    for (uint32_t frame : frames) hash = (hash ^ frame) * 0x9e3779b97f4a7c15u ^ (hash >> 29);
    return static_cast<size_t>(hash ^ (hash >> 32));
  }
};

// Finds stacks by their frames, which are stored once.
class StackNumbers {
 public:
  explicit StackNumbers(std::vector<Stack>* stacks)
      : stacks_(stacks), numbers_(16, Hash{stacks}, Equal{stacks}) {}

  size_t Of(std::vector<uint32_t> frames) {
    stacks_->push_back({std::move(frames), {}});
    const auto [at, is_new] = numbers_.insert(stacks_->size() - 1);
    if (!is_new) stacks_->pop_back();
    return *at;
  }

 private:
  struct Hash {
    std::vector<Stack>* stacks;
    size_t operator()(size_t i) const { return HashFrames()((*stacks)[i].frames); }
  };
  struct Equal {
    std::vector<Stack>* stacks;
    bool operator()(size_t a, size_t b) const { return (*stacks)[a].frames == (*stacks)[b].frames; }
  };

  std::vector<Stack>* const stacks_;
  std::unordered_set<size_t, Hash, Equal> numbers_;
};

class Maker {
 public:
  Maker(const HeapProfile& profile, Detail detail)
      : profile_(profile),
        frame_numbers_(profile, detail, &result_.frames),
        stack_numbers_(&result_.stacks),
        frames_of_(profile.locations.size()) {}

  Stacks Make() {
    for (const Sample& sample : profile_.samples) {
      result_.stack_of_sample.push_back(stack_numbers_.Of(FramesOf(sample)));
    }
    AddAmounts();
    return std::move(result_);
  }

 private:
  std::vector<uint32_t> FramesOf(const Sample& sample) {
    if (sample.stack.empty()) return {frame_numbers_.Of({kNoStack, "", 0, 0, heap::kNone, 0})};
    std::vector<uint32_t> frames;
    for (auto location = sample.stack.rbegin(); location != sample.stack.rend(); ++location) {
      ALLOMON_DCHECK_LT("inv.load.numbers", *location, frames_of_.size());
      std::vector<uint32_t>& some = frames_of_[*location];
      if (some.empty()) some = frame_numbers_.Of(profile_.locations[*location]);
      frames.insert(frames.end(), some.begin(), some.end());
    }
    return frames;
  }

  void AddAmounts() {
    std::vector<std::array<heap::Amount, heap::kMetrics>> sums(result_.stacks.size());
    for (size_t i = 0; i < profile_.samples.size(); ++i) {
      for (size_t metric = 0; metric < heap::kMetrics; ++metric) {
        sums[result_.stack_of_sample[i]][metric].Add(profile_.samples[i].amounts[metric]);
      }
    }
    for (size_t metric = 0; metric < heap::kMetrics; ++metric) {
      CountsRounding rounding;
      for (size_t i = 0; i < sums.size(); ++i) {
        const Counts counts = rounding.Round(sums[i][metric]);
        result_.stacks[i].counts[metric] = counts;
        result_.totals[metric].Add(counts);
        ALLOMON_DCHECK_LE("inv.heap.sum", counts.bytes, result_.totals[metric].bytes);
      }
    }
  }

  const HeapProfile& profile_;
  Stacks result_;
  FrameNumbers frame_numbers_;
  StackNumbers stack_numbers_;
  std::vector<std::vector<uint32_t>> frames_of_;  // by location; empty: not computed yet
};

}  // namespace

void Counts::Add(const Counts& other) {
  blocks = Sum(blocks, other.blocks);
  bytes = Sum(bytes, other.bytes);
}

int64_t Rounding::Round(double amount) {
  if (amount > 0) sum_ = std::min(sum_ + amount, kMost);
  const int64_t due = std::llround(sum_) - given_;
  given_ += due;
  return due;
}

std::string UnnamedLocation(const HeapProfile& profile, const Location& location) {
  if (location.mapping == heap::kNone || location.address == 0) {
    return location.address == 0 ? "(unnamed)" : "0x" + Hexadecimal(location.address);
  }
  const heap::Mapping& mapping = profile.mappings[location.mapping];
  const uint64_t offset = location.address - mapping.begin + mapping.file_offset;
  return BaseName(mapping.path) + "+0x" + Hexadecimal(offset);
}

Stacks StacksOf(const HeapProfile& profile, Detail detail) { return Maker(profile, detail).Make(); }

}  // namespace allomon::interchange
