// Recordings: nothing crashes, and accepted input is consistent.
//
// Most of a recording is zeros.  So an input is a byte of flags, followed by the file's segments
// without the zeros at their ends, each after its length; with the flag kIsFile, by the file
// itself.
#include "tracker/formats/recording.h"

#include <cstring>
#include <random>

#include "tests/fuzz/imported.h"
#include "tests/recording_reader/support/recording_builder.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/symbols/code_file.h"

namespace allomon::fuzz {
namespace {

using recording::kSegmentBytes;
using recording::Process;
using recording::SegmentHeader;
using recording::Sum;

// With this flag names are looked up in the files that the recording mentions, which takes a
// hundred times as long: damage rarely keeps the flag.
constexpr char kWithNames = 1;
constexpr unsigned kDamagesPerNames = 64;
constexpr char kIsFile = 2;

using Length = uint16_t;
constexpr size_t kMostLength = UINT16_MAX;
constexpr size_t kMostBytes = 40 * kSegmentBytes;

std::string FileOf(std::string_view input) {
  const bool is_file = !input.empty() && (input[0] & kIsFile) != 0;
  input.remove_prefix(input.empty() ? 0 : 1);
  if (is_file) return std::string(input);
  std::string file;
  while (input.size() >= sizeof(Length) && file.size() < kMostBytes) {
    Length length;
    memcpy(&length, input.data(), sizeof(length));
    input.remove_prefix(sizeof(length));
    file += input.substr(0, length);
    input.remove_prefix(std::min<size_t>(length, input.size()));
    // The last segment may be cut short.
    if (!input.empty()) file.resize((file.size() / kSegmentBytes + 1) * kSegmentBytes);
  }
  return file;
}

std::string InputOf(std::string_view file, char flags) {
  std::string input(1, flags);
  for (; !file.empty(); file.remove_prefix(std::min<size_t>(kSegmentBytes, file.size()))) {
    std::string_view segment = file.substr(0, kSegmentBytes);
    const bool is_whole = segment.size() == kSegmentBytes;
    if (is_whole) segment = segment.substr(0, 1 + segment.find_last_not_of('\0'));
    const auto length = static_cast<Length>(std::min(segment.size(), kMostLength));
    input.append(reinterpret_cast<const char*>(&length), sizeof(length));
    input += segment.substr(0, length);
    // An empty segment after it keeps the last segment at full size.
    if (is_whole && file.size() == kSegmentBytes) input.append(sizeof(length), '\0');
  }
  return input;
}

void RequireWholeProcess(const Process& process) {
  const auto require = [](const Sum& sum) { RequireWhole(sum.blocks, sum.bytes); };
  const Process::Record& record = process.record;
  for (const Sum& sum : {record.allocated, record.live, record.peak}) require(sum);
  for (const Process::Row& row : process.rows) {
    for (const Sum& sum : {row.allocated, row.live, row.peak}) require(sum);
  }
  for (const Process::Thread& thread : process.threads) {
    for (const Sum& sum : {thread.allocated, thread.live}) require(sum);
    Require(std::isfinite(thread.estimated_words), "an estimate is a number");
    Require(std::isfinite(thread.estimated_words_variance), "a variance is a number");
  }
}

bool CheckRecording(std::string_view input) {
  recording::RecordingOptions options;
  options.names = !input.empty() && (input[0] & kWithNames) != 0;
  const std::string whole_file = FileOf(input);
  // An exact copy, so that the address sanitizer sees a read just past its end.
  const std::vector<char> file(whole_file.begin(), whole_file.end());
  const recording::MemoryBytes bytes(file.data(), file.size());
  std::vector<recording::ProcessTotals> totals;
  std::string error;
  recording::ReadTotals(bytes, &totals, &error);
  const auto profiles = recording::ReadRecordingProfiles(bytes, "x", options);
  if (!profiles.ok()) {
    RequireOneLine(profiles.status().message());
    Require(ViewOf(profiles.status().message()).substr(0, 3) == "x: ", "an error names the file");
    return false;
  }
  Require(!profiles->empty(), "a recording has a process");
  for (const heap::HeapProfile& profile : *profiles) {
    RequireWhole(profile);
    Require(profile.rate > 0, "a recording has a rate");
    for (const heap::Function& function : profile.functions) {
      Require(!function.name.empty(), "a function has a name");
    }
  }
  recording::Recording whole;
  Require(recording::ReadRecording(bytes, &whole, &error), "what has profiles is read", error);
  for (const Process& process : whole.processes) RequireWholeProcess(process);
  return true;
}

// Changes a file in a few places, at the beginnings of segments and of their numbers.
class Damager {
 public:
  explicit Damager(uint64_t seed) : random_(seed) {}

  std::string Damage(std::string file) {
    const uint64_t count = 1 + Below(6);
    for (uint64_t i = 0; i < count && !file.empty(); ++i) DamageOnce(&file);
    return file;
  }

 private:
  uint64_t Below(uint64_t limit) { return random_() % limit; }

  void DamageOnce(std::string* file) {
    switch (Below(20)) {
      case 0:
        return file->resize(Below(file->size()));
      case 1:
        return CopySegment(file);
      case 2:
        return file->resize(file->size() + Below(2 * kSegmentBytes), '\xff');
      case 3:
      case 4:
        return Write(Segment(*file), Below(sizeof(SegmentHeader)), file);
      case 5:
        return Write(0, Below(sizeof(recording::FileHeader)), file);
      case 6:
      case 7:
      case 8:
        return Write(Segment(*file), sizeof(SegmentHeader) + Below(240), file);
      default:
        return Write(Segment(*file), sizeof(SegmentHeader) + Below(6000), file);
    }
  }

  uint64_t Segment(const std::string& file) {
    return Below(1 + file.size() / kSegmentBytes) * kSegmentBytes;
  }

  void CopySegment(std::string* file) {
    const uint64_t from = Segment(*file);
    const uint64_t to = Segment(*file);
    if (from + kSegmentBytes > file->size() || to + kSegmentBytes > file->size()) return;
    memmove(&(*file)[to], &(*file)[from], kSegmentBytes);
  }

  // Writes a value that readers may handle wrongly, at a place where a number begins.
  void Write(uint64_t segment, uint64_t offset, std::string* file) {
    const size_t bytes = size_t{1} << Below(4);
    const uint64_t at = (segment + offset) / bytes * bytes;
    if (at + bytes > file->size()) return;
    uint64_t value = 0;
    memcpy(&value, &(*file)[at], bytes);
    value = Changed(value);
    memcpy(&(*file)[at], &value, bytes);
  }

  uint64_t Changed(uint64_t value) {
    switch (Below(8)) {
      case 0:
        return 0;
      case 1:
        return UINT64_MAX;
      case 2:
        return value + 1;
      case 3:
        return value - 1;
      case 4:
        return value ^ uint64_t { 1 } << Below(64);
      case 5:
        return Below(100);
      case 6:
        return uint64_t{1} << Below(64);
      default:
        return random_();
    }
  }

  std::mt19937_64 random_;
};

std::string BytesOfHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// Makes two processes; the addresses of the second one belong to this program.
std::string SmallRecording(uint64_t seed) {
  using namespace recording;
  RecordedProcess second = RandomProcess(8, seed + 1, 30, 5);
  const std::string own = "/proc/self/exe";
  const auto code = CodeFile::Open(own, "");
  second.AddModule(0x10000000, 0x20000000, 0x10000000, own, BytesOfHex(code->BuildId()));
  for (uint64_t i = 0; i < 20; ++i) {
    second.AddBlock(second.AddStack({0x10000000 + i * 0x4321}), 100 + i, Fate::kLives);
  }
  return BytesOf({RandomProcess(7, seed, 40, 6), second});
}

}  // namespace

std::vector<std::string> Seeds() {
  return {InputOf(recording::BytesOf({recording::RandomProcess(7, 5, 6, 4)}), 0),
          InputOf(SmallRecording(1), 0), InputOf(SmallRecording(3), kWithNames)};
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon::fuzz;
  return Done(CheckRecording(TextOf(data, size)));
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace allomon::fuzz;
  const std::string_view input = TextOf(data, size);
  if (size > 0 && seed % kDamagesPerNames != 0) data[0] &= static_cast<uint8_t>(~kWithNames);
  if (input.empty() || seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string file = Damager(seed).Damage(FileOf(input));
  const bool is_file = (input[0] & kIsFile) != 0;
  return PutBack(is_file ? input[0] + file : InputOf(file, input[0]), data, max_size);
}
