#include "tools/load/recording/recording_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/recording_reader/support/recording_builder.h"

namespace allomon::recording {
namespace {

using heap::HeapProfile;
using heap::Metric;

constexpr double kRate = 0.01;

absl::StatusOr<std::vector<HeapProfile>> Read(const std::vector<RecordedProcess>& processes,
                                              bool names = true) {
  const std::string file = BytesOf(processes);
  RecordingOptions options;
  options.names = names;
  return ReadRecordingProfiles(MemoryBytes(file.data(), file.size()), "x.rec", options);
}

std::vector<HeapProfile> ReadOrDie(const std::vector<RecordedProcess>& processes) {
  auto profiles = Read(processes);
  EXPECT_TRUE(profiles.ok()) << profiles.status();
  return profiles.ok() ? *std::move(profiles) : std::vector<HeapProfile>();
}

double BlocksOf(const HeapProfile& profile, Metric metric) {
  double blocks = 0;
  for (const heap::Sample& sample : profile.samples) blocks += sample[metric].blocks;
  return blocks;
}

double BlocksOf(uint64_t size_bytes) { return WeightOf(size_bytes, kRate).blocks; }

RecordedProcess Program(uint32_t pid, uint64_t base, const std::string& path) {
  RecordedProcess process(pid, kRate, path);
  process.AddModule(base, base + 0x10000, base, "", "12345678901234567890");
  process.AddThread(pid, "main");
  process.threads[0].exact_words = 1 << 20;
  return process;
}

std::string NameOf(const HeapProfile& profile, uint32_t location) {
  return profile.functions[profile.locations[location].lines.at(0).function].name;
}

TEST(RecordingProfileTest, EachMetricHasItsBlocks) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  const uint32_t node = process.AddStack({0x10100, 0x10200});
  process.AddBlock(node, 100, Fate::kLives);
  process.MarkPeak();
  const uint32_t row = process.AddBlock(node, 100, Fate::kDies, 15);
  process.AddBlock(node, 100, Fate::kDies, 16);
  for (const uint32_t half : {0, 1}) process.Save(row, half, 1, 100);
  const HeapProfile profile = ReadOrDie({process}).at(0);
  EXPECT_DOUBLE_EQ(BlocksOf(profile, Metric::kAllocated), 3 * BlocksOf(100));
  EXPECT_DOUBLE_EQ(BlocksOf(profile, Metric::kLive), BlocksOf(100));
  const double p = 1 / BlocksOf(100);
  EXPECT_DOUBLE_EQ(BlocksOf(profile, Metric::kPeak), 1 / (1 - std::sqrt(1 - p)));
  EXPECT_DOUBLE_EQ(BlocksOf(profile, Metric::kTemporary), BlocksOf(100));
  EXPECT_FALSE(Has(profile, Metric::kPromoted));
  EXPECT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(profile.samples[0].size_bytes, 96u);
  EXPECT_EQ(profile.samples[0].deaths.size(), 2u);
  EXPECT_EQ(profile.program, "/nowhere/a");
  EXPECT_EQ(profile.rate, kRate);
}

TEST(RecordingProfileTest, RowsThatDifferInFlagsAreOneSample) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  const uint32_t node = process.AddStack({0x10100});
  double blocks = 0;
  for (const uint8_t flags : {kOfHalf[0], kOfHalf[1]}) {
    for (const uint8_t weight : {uint8_t{0}, kGreatest}) {
      process.SetFlags(flags | weight);
      process.AddBlock(node, 100, Fate::kLives);
      blocks += WeightOf(100, kRate, weight).blocks;
    }
  }
  const HeapProfile profile = ReadOrDie({process}).at(0);
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_DOUBLE_EQ(profile.samples[0][Metric::kLive].blocks, blocks);
}

TEST(RecordingProfileTest, BlockOfUnknownAgeIsNoTemporary) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  process.AddBlock(process.AddStack({0x10100}), 100, Fate::kDies, kAgeUnknown);
  const HeapProfile profile = ReadOrDie({process}).at(0);
  EXPECT_EQ(BlocksOf(profile, Metric::kTemporary), 0);
  ASSERT_EQ(profile.samples[0].deaths.size(), 1u);
  EXPECT_EQ(profile.samples[0].deaths[0].log2_bytes, heap::kUnknownLog2);
}

TEST(RecordingProfileTest, AgesOfWhatLivesAddUpToWhatLives) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  const uint32_t node = process.AddStack({0x10100});
  for (int i = 0; i < 10; ++i) process.AddBlock(node, 100, Fate::kLives);
  process.live[3].birth_bytes = (uint64_t{8} << 20) - 70;
  process.live[4].birth_nanos = process.record.last_nanos;
  const HeapProfile profile = ReadOrDie({process}).at(0);
  const heap::Sample& sample = profile.samples.at(0);
  heap::Amount sum;
  for (const heap::AgeCell& cell : sample.ages) sum.Add(cell.amount);
  EXPECT_DOUBLE_EQ(sum.bytes, sample[Metric::kLive].bytes);
  EXPECT_DOUBLE_EQ(sum.blocks, sample[Metric::kLive].blocks);
  ASSERT_EQ(sample.ages.size(), 3u);
  EXPECT_EQ(sample.ages[0].log2_bytes, 6);
  EXPECT_EQ(sample.ages[1].log2_bytes, 23);
  EXPECT_EQ(sample.ages[1].log2_nanos, 0);
  EXPECT_EQ(sample.ages[2].log2_nanos, 30);
}

TEST(RecordingProfileTest, WordsOfAThreadThatRunsAreEstimatedUntilItsLastSample) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  for (const char* name : {"old file", "ended"}) process.AddThread(6, name);
  for (Thread& thread : process.threads) {
    thread.estimated_words = 1000;
    thread.estimated_words_variance = 40'000;
  }
  process.threads[0].excess_words = 7;
  process.threads[2].ended = 1;
  const HeapProfile profile = ReadOrDie({process}).at(0);
  ASSERT_EQ(profile.threads.size(), 3u);
  EXPECT_EQ(profile.threads[0].estimated_words, 993);
  EXPECT_EQ(profile.threads[1].estimated_words, 960);
  EXPECT_EQ(profile.threads[2].estimated_words, 1000);
}

// The shared record of all further threads has no word count from which to compute an age.
TEST(RecordingProfileTest, LiveBlockOfAThreadThatSharesItsRecordHasNoAgeInBytes) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  process.AddBlock(process.AddStack({0x10100}), 100, Fate::kLives);
  while (process.threads.size() < kMostThreads) process.AddThread(7, "many");
  process.threads.back().exact_words = 0;
  process.live[0].thread = kMostThreads;
  process.live[0].birth_bytes = uint64_t{1} << 20;
  const HeapProfile profile = ReadOrDie({process}).at(0);
  ASSERT_EQ(profile.samples.at(0).ages.size(), 1u);
  EXPECT_EQ(profile.samples[0].ages[0].log2_bytes, heap::kUnknownLog2);
}

TEST(RecordingProfileTest, ProcessesOfOneExecutableAreOneProfileWhereverTheyWereMapped) {
  RecordedProcess first = Program(5, 0x10000, "/nowhere/a");
  first.AddBlock(first.AddStack({0x10100, 0x10200}), 100, Fate::kLives);
  RecordedProcess second = Program(6, 0x550000, "/nowhere/a");
  second.AddBlock(second.AddStack({0x550100, 0x550200}), 100, Fate::kLives);
  second.AddBlock(second.AddStack({0x550100, 0x550300}), 100, Fate::kLives);
  const std::vector<HeapProfile> profiles = ReadOrDie({first, second});
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_TRUE(profiles[0].is_sum);
  EXPECT_EQ(profiles[0].pid, 6u);
  EXPECT_EQ(profiles[0].samples.size(), 2u);
  EXPECT_EQ(profiles[0].locations.size(), 3u);
  EXPECT_EQ(profiles[0].mappings.size(), 1u);
  EXPECT_DOUBLE_EQ(BlocksOf(profiles[0], Metric::kLive), 3 * BlocksOf(100));
  for (const heap::Location& location : profiles[0].locations) {
    EXPECT_GE(location.address, profiles[0].mappings[0].begin);
    EXPECT_LT(location.address, profiles[0].mappings[0].end);
  }
}

TEST(RecordingProfileTest, OtherProgramsAreProfilesOfTheirOwnAndTheLargestComesFirst) {
  RecordedProcess small = Program(5, 0x10000, "/nowhere/small");
  small.AddBlock(small.AddStack({0x10100}), 100, Fate::kLives);
  RecordedProcess large = Program(6, 0x10000, "/nowhere/large");
  large.AddBlock(large.AddStack({0x10100}), 100000, Fate::kLives);
  RecordedProcess silent = Program(7, 0x10000, "/nowhere/silent");
  const std::vector<HeapProfile> profiles = ReadOrDie({small, large, silent});
  ASSERT_EQ(profiles.size(), 2u);
  EXPECT_EQ(profiles[0].program, "/nowhere/large");
  EXPECT_EQ(profiles[1].program, "/nowhere/small");
  EXPECT_EQ(profiles[0].notes.back(), "1 process without a sample left out: silent");
}

TEST(RecordingProfileTest, ProgramWithoutSamplesIsAnEmptyProfile) {
  const std::vector<HeapProfile> profiles = ReadOrDie({Program(5, 0x10000, "/nowhere/a")});
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_TRUE(profiles[0].samples.empty());
}

TEST(RecordingProfileTest, CodeThatIsGoneIsNamedByModuleAndAddressOfTheCall) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  process.AddBlock(process.AddStack({0x10101}), 100, Fate::kLives);
  const HeapProfile profile = ReadOrDie({process}).at(0);
  EXPECT_EQ(NameOf(profile, 0), "a+0x100");
  EXPECT_EQ(profile.locations[0].address, 0x10100u);
  ASSERT_EQ(profile.notes.size(), 1u);
  EXPECT_EQ(profile.notes[0],
            "/nowhere/a is not there any more; its functions are named by their addresses");
}

TEST(RecordingProfileTest, InterruptedAddressIsLookedUpItself) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  process.AddBlock(process.AddStack({0x10101}), 100, Fate::kLives);
  process.nodes[0].kind = static_cast<uint8_t>(NodeKind::kExactAddress);
  EXPECT_EQ(NameOf(ReadOrDie({process}).at(0), 0), "a+0x101");
}

TEST(RecordingProfileTest, UnloadedCodeKeepsItsName) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  process.AddModule(0x10000, 0x20000, 0x10000, "/nowhere/plugin.so", "x");
  process.modules[1].moved_by = uint64_t{1} << 60;
  const uint64_t moved = (uint64_t{1} << 60) + 0x10101;
  process.AddBlock(process.AddStack({moved}), 100, Fate::kLives);
  EXPECT_EQ(NameOf(ReadOrDie({process}).at(0), 0), "plugin.so+0x100");
}

TEST(RecordingProfileTest, NamedFramesHaveTheirFileAndLine) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  const uint32_t outer = process.AddNamedFrame("run\tmain.py\t7", 0);
  process.AddBlock(process.AddNamedFrame("make list", outer), 100, Fate::kLives);
  const HeapProfile profile = ReadOrDie({process}).at(0);
  const std::vector<uint32_t>& stack = profile.samples.at(0).stack;
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(NameOf(profile, stack[0]), "make list");
  EXPECT_EQ(NameOf(profile, stack[1]), "run");
  const heap::Line line = profile.locations[stack[1]].lines[0];
  EXPECT_EQ(profile.functions[line.function].file, "main.py");
  EXPECT_EQ(line.line, 7u);
}

TEST(RecordingProfileTest, TypesAreOfSamplesAndNoFrames) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  const uint32_t frame = process.AddStack({0x10101});
  process.AddBlock(process.AddType("cons", frame), 100, Fate::kLives);
  process.AddBlock(process.AddType("pair\tof ints", frame), 100, Fate::kLives);
  process.AddBlock(frame, 100, Fate::kLives);
  process.AddBlock(process.AddType("cons", 0), 100, Fate::kLives);
  const HeapProfile profile = ReadOrDie({process}).at(0);
  std::vector<std::pair<std::string, size_t>> types;
  for (const heap::Sample& sample : profile.samples) {
    types.emplace_back(sample.type, sample.stack.size());
  }
  EXPECT_EQ(types, (std::vector<std::pair<std::string, size_t>>{
                       {"cons", 1}, {"pair\tof ints", 1}, {"", 1}, {"cons", 0}}));
  EXPECT_EQ(profile.locations.size(), 1u);
}

TEST(RecordingProfileTest, StackThatWasCutSaysSo) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  process.AddBlock(process.AddStack({0x10101}), 100, Fate::kLives);
  process.nodes[0].cut = 1;
  const HeapProfile profile = ReadOrDie({process}).at(0);
  ASSERT_EQ(profile.samples[0].stack.size(), 2u);
  EXPECT_EQ(NameOf(profile, profile.samples[0].stack[1]), "[callers left out]");
}

TEST(RecordingProfileTest, ManagedBlocksHaveTheirMetrics) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  const uint32_t node = process.AddStack({0x10101});
  process.AddBlock(node, 16, Fate::kDiesYoung, 3);
  process.AddBlock(node, 16, Fate::kIsPromoted);
  const HeapProfile profile = ReadOrDie({process}).at(0);
  EXPECT_TRUE(Has(profile, Metric::kPromoted));
  EXPECT_TRUE(Has(profile, Metric::kDiedYoung));
  EXPECT_DOUBLE_EQ(BlocksOf(profile, Metric::kPromoted), BlocksOf(16));
  EXPECT_DOUBLE_EQ(BlocksOf(profile, Metric::kDiedYoung), BlocksOf(16));
  EXPECT_DOUBLE_EQ(BlocksOf(profile, Metric::kTemporary), 0);
  EXPECT_EQ(profile.samples[0].deaths.size(), 1u);
}

TEST(RecordingProfileTest, CustomBlocksHaveNoHeader) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  process.AddBlock(process.AddStack({0x10101}), 64, Fate::kDies);
  process.rows[0].source = 2;
  EXPECT_FALSE(ReadOrDie({process})[0].samples[0].has_header);
}

heap::Source SourceRead(uint8_t source, uint8_t flags) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  process.AddBlock(process.AddStack({0x10101}), 64, Fate::kDies);
  process.rows[0].source = source;
  process.rows[0].flags |= flags;
  return ReadOrDie({process})[0].samples[0].source;
}

TEST(RecordingProfileTest, RowsTellWhereMemoryComesFrom) {
  EXPECT_EQ(SourceRead(0, 0), heap::Source::kManaged);
  EXPECT_EQ(SourceRead(1, 0), heap::Source::kUnmarshalled);
  EXPECT_EQ(SourceRead(2, kMapped), heap::Source::kMapped);
  EXPECT_EQ(SourceRead(2, kReported), heap::Source::kCustom);
  EXPECT_EQ(SourceRead(3, 0), heap::Source::kMalloc);
  EXPECT_EQ(SourceRead(4, 0), heap::Source::kUnknown);
}

// Its writer had no flags for them.
TEST(RecordingProfileTest, OlderRecordingDoesNotTellMappingsFromCustomMemory) {
  EXPECT_EQ(SourceRead(2, 0), heap::Source::kCustomOrMapped);
}

TEST(RecordingProfileTest, BlocksOfTwoSourcesAreTwoSamples) {
  RecordedProcess process = Program(5, 0x10000, "/nowhere/a");
  const uint32_t node = process.AddStack({0x10101});
  process.AddBlock(node, 64, Fate::kLives);
  process.AddBlock(node, 64, Fate::kLives);
  process.rows.push_back(process.rows[0]);
  process.rows[0].source = 2;
  process.rows[0].flags |= kMapped;
  process.rows.back().source = 2;
  process.rows.back().flags |= kReported;
  EXPECT_EQ(ReadOrDie({process})[0].samples.size(), 2u);
}

TEST(RecordingProfileTest, DeepStacksOfAHostileFileFitIntoMemory) {
  RecordedProcess process(5, kRate, "/nowhere/a");
  process.nodes.push_back({0x100, 0, 0, 0, 0});
  for (uint32_t i = 1; i < 100000; ++i) process.nodes.push_back({0x100 + i, i, 0, 0, 0});
  for (uint32_t i = 0; i < 5000; ++i) process.AddBlock(50000 + i, 100, Fate::kLives);
  auto profiles = Read({process}, false);
  ASSERT_TRUE(profiles.ok());
  uint64_t frames = 0;
  for (const heap::Sample& sample : (*profiles)[0].samples) frames += sample.stack.size();
  EXPECT_LE(frames, uint64_t{1} << 27);
  EXPECT_EQ((*profiles)[0].notes.size(), 1u);
}

TEST(RecordingProfileTest, ErrorsNameTheFileAndARemedy) {
  RecordingOptions options;
  const auto none = ReadRecordingProfiles("/nowhere/x.rec", options);
  EXPECT_EQ(none.status().message(), "/nowhere/x.rec: No such file or directory");
  const auto not_begun = Read({});
  EXPECT_EQ(not_begun.status().message(),
            "x.rec: no process has recorded anything yet; read it again when the program has "
            "begun to allocate");
}

TEST(RecordingProfileTest, RecordingIsKnownByItsFirstBytes) {
  EXPECT_TRUE(LooksLikeRecording(BytesOf({})));
  EXPECT_FALSE(LooksLikeRecording("ALLOREC"));
  EXPECT_FALSE(LooksLikeRecording(""));
}

}  // namespace
}  // namespace allomon::recording
