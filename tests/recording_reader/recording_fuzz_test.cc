// Damages recordings at random, and reads them: nothing crashes, and what is read is whole.
//
// About ten seconds, the same rounds each time; with --minutes=N as long as that, other rounds.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/recording_reader/support/recording_builder.h"
#include "tools/pprof/gzip.h"
#include "tools/recording/recording_profile.h"
#include "tools/symbols/code_file.h"
#include "tracker/formats/recording.h"

namespace allomon::recording {
namespace {

constexpr int kRounds = 4000;
constexpr int kRoundsPerNames = 100;

int minutes = 0;

std::string BytesOfHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// Two processes; the second one's addresses are of this program.
std::string SmallRecording(uint64_t seed) {
  RecordedProcess second = RandomProcess(8, seed + 1, 30, 5);
  const std::string own = "/proc/self/exe";
  second.AddModule(0x10000000, 0x20000000, 0x10000000, own,
                   BytesOfHex(CodeFile::Open(own, "")->BuildId()));
  for (uint64_t i = 0; i < 20; ++i) {
    second.AddBlock(second.AddStack({0x10000000 + i * 0x4321}), 100 + i, Fate::kLives);
  }
  return BytesOf({RandomProcess(7, seed, 40, 6), second});
}

std::string Version1(const std::string& name) {
  std::ifstream file("tests/recording_reader/version_1/" + name + ".rec.gz", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return pprof::Gunzip(bytes).value();
}

// Changes a file in a few places.
class Damager {
 public:
  explicit Damager(uint64_t seed) : random_(seed) {}

  std::string Damage(std::string file) {
    const uint64_t count = 1 + Below(6);
    for (uint64_t i = 0; i < count && !file.empty(); ++i) DamageOnce(&file);
    return file;
  }

  uint64_t Below(uint64_t limit) { return random_() % limit; }

 private:
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
        return Write(0, Below(sizeof(FileHeader)), file);
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
    std::memmove(&(*file)[to], &(*file)[from], kSegmentBytes);
  }

  // A value that is likely to surprise, at a place where a number begins.
  void Write(uint64_t segment, uint64_t offset, std::string* file) {
    const size_t bytes = size_t{1} << Below(4);
    const uint64_t at = (segment + offset) / bytes * bytes;
    if (at + bytes > file->size()) return;
    uint64_t value = 0;
    std::memcpy(&value, &(*file)[at], bytes);
    value = Changed(value);
    std::memcpy(&(*file)[at], &value, bytes);
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

void ExpectWhole(const heap::Amount& amount) {
  ASSERT_TRUE(std::isfinite(amount.blocks) && amount.blocks >= 0);
  ASSERT_TRUE(std::isfinite(amount.bytes) && amount.bytes >= 0);
}

void ExpectWhole(const heap::Sample& sample, size_t locations) {
  for (const uint32_t location : sample.stack) ASSERT_LT(location, locations);
  for (const heap::Amount& amount : sample.amounts) ExpectWhole(amount);
  for (const auto* cells : {&sample.deaths, &sample.ages}) {
    for (const heap::AgeCell& cell : *cells) {
      ASSERT_TRUE(cell.log2_bytes <= 63 || cell.log2_bytes == heap::kUnknownLog2);
      ASSERT_LE(cell.log2_nanos, 63);
      ExpectWhole(cell.amount);
    }
  }
}

void ExpectWhole(const heap::HeapProfile& profile) {
  ASSERT_TRUE(profile.rate > 0 && profile.rate <= 1);
  for (const heap::Sample& sample : profile.samples) ExpectWhole(sample, profile.locations.size());
  for (const heap::Location& location : profile.locations) {
    ASSERT_TRUE(location.mapping == heap::kNone || location.mapping < profile.mappings.size());
    for (const heap::Line& line : location.lines) {
      ASSERT_LT(line.function, profile.functions.size());
    }
  }
  for (const heap::Function& function : profile.functions) ASSERT_NE(function.name, "");
}

void ExpectWhole(const Sum& sum) { ExpectWhole(heap::Amount{sum.blocks, sum.bytes}); }

void ExpectWhole(const Process& process) {
  const Process::Record& record = process.record;
  for (const Sum& sum : {record.allocated, record.live, record.peak}) ExpectWhole(sum);
  for (const Process::Row& row : process.rows) {
    for (const Sum& sum : {row.allocated, row.live, row.peak}) ExpectWhole(sum);
  }
  for (const Process::Thread& thread : process.threads) {
    for (const Sum& sum : {thread.allocated, thread.live}) ExpectWhole(sum);
    ASSERT_TRUE(std::isfinite(thread.estimated_words));
    ASSERT_TRUE(std::isfinite(thread.estimated_words_variance));
  }
}

// Whether there was anything to read.
bool ReadDamaged(const std::string& file, bool names) {
  RecordingOptions options;
  options.names = names;
  const MemoryBytes bytes(file.data(), file.size());
  std::vector<ProcessTotals> totals;
  std::string error;
  ReadTotals(bytes, &totals, &error);
  const auto profiles = ReadRecordingProfiles(bytes, "x", options);
  if (!profiles.ok()) {
    const std::string message(profiles.status().message());
    EXPECT_EQ(message.rfind("x: ", 0), 0u);
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return false;
  }
  EXPECT_FALSE(profiles->empty());
  for (const heap::HeapProfile& profile : *profiles) ExpectWhole(profile);
  Recording recording;
  EXPECT_TRUE(ReadRecording(bytes, &recording, &error)) << error;
  for (const Process& process : recording.processes) ExpectWhole(process);
  return true;
}

TEST(RecordingFuzzTest, DamagedRecordings) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::minutes(minutes);
  const std::vector<std::string> files = {SmallRecording(1), SmallRecording(2), SmallRecording(3),
                                          Version1("process"), Version1("built")};
  Damager damager(minutes == 0 ? 20150 : static_cast<uint64_t>(end.time_since_epoch().count()));
  int rounds = 0;
  int read = 0;
  for (; minutes == 0 ? rounds < kRounds : Clock::now() < end; ++rounds) {
    const std::string file = damager.Damage(files[damager.Below(files.size())]);
    read += ReadDamaged(file, rounds % kRoundsPerNames == 0);
    ASSERT_FALSE(testing::Test::HasFailure()) << "in round " << rounds;
  }
  EXPECT_GT(read, rounds / 4);
  EXPECT_LT(read, rounds);
  RecordProperty("rounds", rounds);
  std::printf("%d rounds, %d of them read\n", rounds, read);
}

}  // namespace
}  // namespace allomon::recording

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    constexpr char kMinutes[] = "--minutes=";
    if (std::strncmp(argv[i], kMinutes, sizeof(kMinutes) - 1) == 0) {
      allomon::recording::minutes = std::atoi(argv[i] + sizeof(kMinutes) - 1);
    }
  }
  return RUN_ALL_TESTS();
}
