#include "tracker/formats/recording.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/recording_reader/support/recording_builder.h"

namespace allomon::recording {
namespace {

constexpr double kRate = 0.01;
constexpr uint64_t kProcessAt = kSegmentBytes + sizeof(SegmentHeader);

bool Read(const std::string& file, Recording* recording, std::string* error) {
  return ReadRecording(MemoryBytes(file.data(), file.size()), recording, error);
}

Recording ReadOrDie(const std::string& file) {
  Recording recording;
  std::string error;
  EXPECT_TRUE(Read(file, &recording, &error)) << error;
  return recording;
}

std::string ErrorOf(const std::string& file) {
  Recording recording;
  std::string error;
  EXPECT_FALSE(Read(file, &recording, &error));
  EXPECT_EQ(error.find('\n'), std::string::npos);
  std::vector<ProcessTotals> totals;
  std::string ignored;
  ReadTotals(MemoryBytes(file.data(), file.size()), &totals, &ignored);
  return error;
}

template <typename Value>
std::string With(std::string file, uint64_t offset, const Value& value) {
  std::memcpy(&file[offset], &value, sizeof(value));
  return file;
}

RecordedProcess SmallProcess() {
  RecordedProcess process(7, kRate, "/bin/small");
  process.AddModule(0x1000, 0x9000, 0x1000, "", "id");
  process.AddThread(7, "main");
  const uint32_t node = process.AddStack({0x1100, 0x1200, 0x1300});
  process.AddBlock(node, 100, Fate::kLives);
  process.AddBlock(node, 100, Fate::kDies, 3);
  process.MarkPeak();
  return process;
}

TEST(RecordingTest, WhatWasWrittenIsRead) {
  const Recording recording = ReadOrDie(BytesOf({SmallProcess(), RandomProcess(8, 1, 50, 4)}));
  ASSERT_EQ(recording.processes.size(), 2u);
  EXPECT_TRUE(recording.notes.empty()) << recording.notes[0];
  const Process& process = recording.processes[0];
  EXPECT_EQ(process.program, "/bin/small");
  EXPECT_EQ(process.command, "/bin/small --flag");
  ASSERT_EQ(process.nodes.size(), 3u);
  EXPECT_EQ(process.nodes[2].address, 0x1300u);
  EXPECT_EQ(process.nodes[2].parent, 2u);
  ASSERT_EQ(process.rows.size(), 1u);
  EXPECT_EQ(process.rows[0].allocated.samples, 2u);
  EXPECT_EQ(process.rows[0].peak.samples, 1u);
  EXPECT_EQ(process.events.size(), 1u);
  EXPECT_EQ(process.live.size(), 1u);
  EXPECT_STREQ(process.threads[0].name, "main");
  EXPECT_EQ(process.damaged, 0u);
}

TEST(RecordingTest, RecordsOfManySegmentsKeepTheirNumbers) {
  const RecordedProcess written = RandomProcess(8, 1, 20000, 8);
  const Recording recording = ReadOrDie(BytesOf({written}));
  const Process& process = recording.processes.at(0);
  ASSERT_GT(written.nodes.size(), 2 * kRecordsPerSegment<Node>);
  ASSERT_EQ(process.nodes.size(), written.nodes.size());
  for (size_t i = 0; i < process.nodes.size(); ++i) {
    ASSERT_EQ(process.nodes[i].address, written.nodes[i].address);
  }
  EXPECT_EQ(process.rows.back().node, written.rows.back().node);
  EXPECT_EQ(process.NameOf(process.nodes.back()), "evaluate\tscript.py\t12");
}

TEST(RecordingTest, TotalsAreTheSumsOfThreads) {
  const std::string file = BytesOf({SmallProcess(), RandomProcess(8, 1, 50, 4)});
  std::vector<ProcessTotals> totals;
  std::string error;
  ASSERT_TRUE(ReadTotals(MemoryBytes(file.data(), file.size()), &totals, &error)) << error;
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].pid, 7u);
  EXPECT_EQ(totals[0].program, "/bin/small");
  EXPECT_EQ(totals[0].allocated.samples, 2u);
  EXPECT_NEAR(totals[0].live.bytes, WeightOf(100, kRate).bytes, 1e-6);
  EXPECT_NEAR(totals[0].peak_bytes, WeightOf(100, kRate).bytes, 1);
}

TEST(RecordingTest, WhatIsNoRecordingIsRefusedInOneLine) {
  EXPECT_EQ(ErrorOf("").rfind("empty", 0), 0u);
  EXPECT_EQ(ErrorOf("ALLO"), "not a recording");
  EXPECT_EQ(ErrorOf(std::string(100000, 'x')), "not a recording");
  const std::string file = BytesOf({SmallProcess()});
  EXPECT_EQ(ErrorOf(file.substr(0, 20)), "cut short within its header; copy the file again");
  EXPECT_NE(ErrorOf(With(file, 8, uint32_t{3})).find("version 3"), std::string::npos);
  EXPECT_NE(ErrorOf(With(file, 12, uint32_t{4096})).find("4096"), std::string::npos);
}

TEST(RecordingTest, FileThatIsCutIsRefusedWhereverItIsCut) {
  const std::string file = BytesOf({SmallProcess()});
  for (size_t count = 2 * kSegmentBytes; count < file.size(); count += 4321) {
    EXPECT_EQ(ErrorOf(file.substr(0, count)),
              "cut short: parts of process 7 are missing; copy the file again");
  }
}

TEST(RecordingTest, FileThatItsProcessLostIsReadAsFarAsItIsThere) {
  RecordedProcess process = SmallProcess();
  process.record.lost = 1;
  const Recording recording = ReadOrDie(BytesOf({process}).substr(0, 4 * kSegmentBytes));
  ASSERT_EQ(recording.processes.size(), 1u);
  EXPECT_EQ(recording.processes[0].rows.size(), 1u);
  ASSERT_EQ(recording.processes[0].notes.size(), 1u);
  EXPECT_NE(recording.processes[0].notes[0].find("lost its file"), std::string::npos);
}

TEST(RecordingTest, ProcessThatHasNotBegunIsLeftOut) {
  RecordedProcess process = SmallProcess();
  process.record.begun = 0;
  const Recording recording = ReadOrDie(BytesOf({process, SmallProcess()}));
  EXPECT_EQ(recording.processes.size(), 1u);
  ASSERT_EQ(recording.notes.size(), 1u);
  EXPECT_EQ(recording.notes[0], "process 7 had not begun to record, and is left out");
}

TEST(RecordingTest, ImpossibleRatesAreLeftOut) {
  for (const double rate :
       {0.0, -0.5, 1.5, 1e-310, std::nan(""), std::numeric_limits<double>::infinity()}) {
    RecordedProcess process = SmallProcess();
    process.record.rate = rate;
    const Recording recording = ReadOrDie(BytesOf({process}));
    EXPECT_TRUE(recording.processes.empty());
    EXPECT_NE(recording.notes.at(0).find("rate"), std::string::npos);
  }
}

TEST(RecordingTest, StacksHaveNoCycles) {
  RecordedProcess process = SmallProcess();
  process.nodes[0].parent = 3;
  process.nodes[1].parent = 2;
  process.nodes[2].parent = UINT32_MAX;
  const Recording recording = ReadOrDie(BytesOf({process}));
  for (const Node& node : recording.processes.at(0).nodes) {
    EXPECT_EQ(node.parent, 0u);
    EXPECT_EQ(node.cut, 1u);
  }
  EXPECT_EQ(recording.processes[0].damaged, 3u);
  EXPECT_EQ(recording.processes[0].notes.size(), 1u);
}

TEST(RecordingTest, ReferencesToNothingAreCutOff) {
  RecordedProcess process = SmallProcess();
  process.rows[0].node = 99;
  process.events[0].row = 99;
  process.live[0].row = 99;
  process.modules[0].path = {60000, 60000};
  process.record.program = {UINT32_MAX, UINT32_MAX};
  const Recording recording = ReadOrDie(BytesOf({process}));
  const Process& read = recording.processes.at(0);
  EXPECT_EQ(read.rows[0].node, 0u);
  EXPECT_EQ(read.events[0].kind, 0u);
  EXPECT_EQ(read.live[0].row, 0u);
  EXPECT_EQ(read.TextOf(read.modules[0].path), "");
  EXPECT_EQ(read.program, "");
}

TEST(RecordingTest, MoreFreedThanAllocatedIsNothingLive) {
  RecordedProcess process = SmallProcess();
  process.rows[0].freed_bytes = process.rows[0].bytes + 1;
  process.rows[0].freed_blocks = process.rows[0].blocks + 1;
  process.threads[0].freed_bytes = {UINT64_MAX / 4, 0};
  const Recording recording = ReadOrDie(BytesOf({process}));
  EXPECT_EQ(recording.processes.at(0).rows[0].live.bytes, 0);
  EXPECT_EQ(recording.processes[0].rows[0].live.samples, 0u);
  EXPECT_EQ(recording.processes[0].threads[0].live.bytes, 0);
  EXPECT_EQ(recording.processes[0].damaged, 0u);
}

TEST(RecordingTest, NumbersThatNoProcessReachesAreZero) {
  RecordedProcess process = SmallProcess();
  process.rows[0].blocks = (uint64_t{1} << 40) + 1;
  process.events[0].bytes = uint64_t{1} << 57;
  process.threads[0].estimated_words = std::nan("");
  process.threads[0].estimated_words_variance = -1;
  process.threads[0].bytes = {UINT64_MAX, UINT64_MAX};
  process.record.missing[0] = UINT64_MAX;
  const Recording recording = ReadOrDie(BytesOf({process}));
  const Process& read = recording.processes.at(0);
  EXPECT_EQ(read.rows[0].allocated.samples, 0u);
  EXPECT_EQ(read.events[0].sum.bytes, 0);
  EXPECT_EQ(read.threads[0].estimated_words, 0);
  EXPECT_EQ(read.threads[0].estimated_words_variance, 0);
  EXPECT_EQ(read.threads[0].allocated.bytes, 0);
  EXPECT_EQ(read.record.missing[Shortage::kSamples], 0u);
  EXPECT_EQ(read.damaged, 3u);
}

TEST(RecordingTest, EachRowHasOneWeight) {
  RecordedProcess process(7, kRate, "/bin/small");
  process.SetFlags(kOfHalf[0]);
  process.AddBlock(0, 100, Fate::kLives);
  process.SetFlags(kOfHalf[0] | kGreatest);
  process.AddBlock(0, 100, Fate::kDies);
  const Process read = ReadOrDie(BytesOf({process})).processes.at(0);
  ASSERT_EQ(read.rows.size(), 2u);
  // 96 to 103 bytes: 12 or 13 words, and the header's.
  const double least = 1 - std::pow(1 - kRate, 13), greatest = 1 - std::pow(1 - kRate, 14);
  EXPECT_NEAR(read.rows[0].probability, least, 1e-12);
  EXPECT_NEAR(read.rows[0].allocated.bytes, 100 / least, 1e-6);
  EXPECT_NEAR(read.rows[1].allocated.blocks, 1 / greatest, 1e-6);
  EXPECT_EQ(read.rows[1].live.blocks, 0);
  EXPECT_NEAR(read.events[0].sum.bytes, 100 / greatest, 1e-6);
  EXPECT_NEAR(read.record.allocated.blocks, 1 / least + 1 / greatest, 1e-6);
  EXPECT_NEAR(read.record.live.bytes, 100 / least, 1e-6);
}

TEST(RecordingTest, CustomMemoryHasNoHeaderWord) {
  RecordedProcess process(7, kRate, "/bin/small");
  process.AddBlock(0, 64, Fate::kLives);
  process.rows[0].source = 2;
  EXPECT_NEAR(ReadOrDie(BytesOf({process})).processes.at(0).rows[0].probability,
              1 - std::pow(1 - kRate, 8), 1e-12);
  process.rows[0].size_class = 1;  // no bytes: one trial, so that no weight is infinite
  EXPECT_NEAR(ReadOrDie(BytesOf({process})).processes.at(0).rows[0].probability, kRate, 1e-12);
}

// Half 0 gives the live blocks at the moment of half 1, and half 1 those at the moment of half 0.
TEST(RecordingTest, PeakIsTheMeanOfWhatEachHalfSaysOfTheOtherOnesMoment) {
  RecordedProcess process(7, kRate, "/bin/small");
  const auto add = [&process](uint8_t flags, int blocks) {
    process.SetFlags(flags);
    uint32_t row = 0;
    for (int i = 0; i < blocks; ++i) row = process.AddBlock(0, 96, Fate::kLives);
    return row;
  };
  const uint32_t of_0 = add(kOfHalf[0], 3);
  const uint32_t of_1 = add(kOfHalf[1] | kGreatest, 5);
  const uint32_t of_both = add(kOfHalf[0] | kOfHalf[1], 7);
  process.MarkPeak();
  process.Save(of_0, 0, 100, 9600);  // ignored: half 0 does not give the live blocks at its own
                                     // moment
  process.Save(of_1, 0, 2, 192);
  process.Save(of_both, 1, 4, 384);
  process.rows[of_0 - 1].peak_epoch[1] = process.record.peak_epoch[1];  // up to date with this
                                                                        // peak, but nothing saved
  const Process read = ReadOrDie(BytesOf({process})).processes.at(0);
  const auto q_of = [](double words) { return 1 - std::pow(1 - kRate, words / 2); };
  EXPECT_EQ(read.rows[0].peak.samples, 0u);
  EXPECT_EQ(read.rows[0].peak.bytes, 0);
  EXPECT_EQ(read.rows[1].peak.samples, 2u);
  EXPECT_NEAR(read.rows[1].peak.bytes, 192 / q_of(14) / 2, 1e-6);
  EXPECT_EQ(read.rows[2].peak.samples, 7u);
  EXPECT_NEAR(read.rows[2].peak.blocks, (7 + 4) / q_of(13) / 2, 1e-6);
  EXPECT_NEAR(read.record.peak.bytes, read.rows[1].peak.bytes + read.rows[2].peak.bytes, 1e-6);
}

TEST(RecordingTest, SavedCountsThatAreNotThereAreNothing) {
  RecordedProcess process = SmallProcess();
  process.Save(1, 0, 1, 100);
  process.rows[0].saved[0] = 2;
  process.Save(1, 1, (uint64_t{1} << 40) + 1, 100);
  process.saved.resize(1);
  process.rows[0].saved[1] = 1;
  process.saved[0].blocks = UINT64_MAX;
  const Process read = ReadOrDie(BytesOf({process})).processes.at(0);
  EXPECT_EQ(read.rows[0].peak.samples, 0u);
  EXPECT_EQ(read.damaged, 2u);
}

TEST(RecordingTest, AtRateOneAllIsExact) {
  RecordedProcess process(7, 1, "/bin/small");
  for (uint64_t size = 0; size < 3000; size += 7) {
    process.SetFlags(
        static_cast<uint8_t>(kOfHalf[0] | kOfHalf[1] | (size % 2 == 0 ? kGreatest : 0)));
    process.AddBlock(0, size, size % 3 == 0 ? Fate::kDies : Fate::kLives);
  }
  process.MarkPeak();
  uint64_t all = 0, live = 0;
  for (const Row& row : process.rows) {
    all += row.bytes;
    live += row.bytes - row.freed_bytes;
  }
  const Process read = ReadOrDie(BytesOf({process})).processes.at(0);
  EXPECT_EQ(read.record.allocated.bytes, static_cast<double>(all));
  EXPECT_EQ(read.record.live.bytes, static_cast<double>(live));
  EXPECT_EQ(read.record.peak.bytes, static_cast<double>(live));
}

TEST(RecordingTest, TimelineEndsWithTheStateNow) {
  RecordedProcess process = SmallProcess();
  process.timeline.push_back({1000, 10, 5, 7});
  process.threads[0].last_nanos = process.record.last_nanos + 3;
  const Process read = ReadOrDie(BytesOf({process})).processes.at(0);
  EXPECT_EQ(read.record.last_nanos, process.record.last_nanos + 3);
  ASSERT_EQ(read.timeline.size(), 2u);
  EXPECT_EQ(read.timeline[1].nanos, read.record.last_nanos);
  EXPECT_EQ(read.timeline[1].live_bytes, static_cast<uint64_t>(read.record.live.bytes));
  EXPECT_EQ(read.timeline[1].most_live_bytes, read.timeline[1].live_bytes);
  EXPECT_EQ(read.timeline[1].allocated_bytes, static_cast<uint64_t>(read.record.allocated.bytes));
}

TEST(RecordingTest, ResidentMemoryIsBesideThePointsOfTheTimeline) {
  RecordedProcess process = SmallProcess();
  process.timeline = {{1000, 10, 5, 7}, {2000, 20, 5, 7}};
  process.record.memory = {2500, 9000, 5, 9000, {}};
  EXPECT_TRUE(ReadOrDie(BytesOf({process})).processes.at(0).resident.empty());
  process.resident = {{0}, {4096}};
  const auto bytes_of = [](const Process& read) {
    std::vector<uint64_t> bytes;
    for (const ResidentPoint& point : read.resident) bytes.push_back(point.bytes);
    return bytes;
  };
  Process read = ReadOrDie(BytesOf({process})).processes.at(0);
  EXPECT_EQ(bytes_of(read), (std::vector<uint64_t>{0, 4096, 9000}));
  EXPECT_EQ(read.timeline.size(), 3u);
  EXPECT_EQ(read.damaged, 0u);
  process.resident[0].bytes = UINT64_MAX;
  read = ReadOrDie(BytesOf({process})).processes.at(0);
  EXPECT_EQ(read.damaged, 1u);
  EXPECT_LT(read.resident[0].bytes, UINT64_MAX);
}

TEST(RecordingTest, UnknownAgesStayUnknown) {
  RecordedProcess process = SmallProcess();
  process.events[0].log2_bytes = kAgeUnknown;
  process.events[0].log2_nanos = 200;
  const Process read = ReadOrDie(BytesOf({process})).processes.at(0);
  EXPECT_EQ(read.events[0].log2_bytes, kAgeUnknown);
  EXPECT_EQ(read.events[0].log2_nanos, 63);
}

TEST(RecordingTest, CountsBeyondTheFileTakeNoMemory) {
  RecordedProcess process = SmallProcess();
  const std::string file = BytesOf({process});
  const uint64_t counts = kProcessAt + offsetof(ProcessRecord, records);
  for (uint64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(ErrorOf(With(file, counts + 4 * i, UINT32_MAX)),
              "cut short: parts of process 7 are missing; copy the file again");
  }
}

TEST(RecordingTest, UnknownKindsAndForeignSegmentsAreSkipped) {
  const std::string file = BytesOf({SmallProcess()});
  std::string longer = file;
  for (const uint32_t kind : {0u, 11u, UINT32_MAX}) {
    std::string segment = file.substr(2 * kSegmentBytes, kSegmentBytes);
    longer += With(segment, offsetof(SegmentHeader, kind), kind);
  }
  longer += With(file.substr(2 * kSegmentBytes, kSegmentBytes), offsetof(SegmentHeader, process),
                 uint32_t{77});
  longer += With(file.substr(2 * kSegmentBytes, kSegmentBytes), offsetof(SegmentHeader, index),
                 UINT32_MAX);
  longer += std::string(kSegmentBytes, '\0');
  longer = With(longer, offsetof(FileHeader, segments_used), UINT64_MAX);
  const Recording recording = ReadOrDie(longer);
  EXPECT_EQ(recording.processes.at(0).nodes.size(), 3u);
  EXPECT_TRUE(recording.notes.empty());
}

TEST(RecordingTest, HolesOfASparseFileTakeNoMemory) {
  char path[] = "/tmp/recording_test.XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  unlink(path);
  std::string file = BytesOf({SmallProcess()});
  file = With(file, offsetof(FileHeader, limit_bytes), UINT64_MAX);
  file = With(file, offsetof(FileHeader, segments_used), UINT64_MAX);
  ASSERT_EQ(write(fd, file.data(), file.size()), static_cast<ssize_t>(file.size()));
  ASSERT_EQ(ftruncate(fd, off_t{17} << 30), 0);
  Recording recording;
  std::string error;
  EXPECT_TRUE(ReadRecording(DescriptorBytes(fd), &recording, &error)) << error;
  EXPECT_EQ(recording.processes.size(), 1u);
  close(fd);
}

TEST(RecordingTest, FileOfNoRegularKindIsRefusedWithoutWaiting) {
  FileBytes device, none;
  std::string error;
  EXPECT_FALSE(device.Open("/dev/zero", &error));
  EXPECT_EQ(error, "not a regular file");
  EXPECT_FALSE(none.Open("/nowhere/at/all", &error));
  EXPECT_EQ(error, "No such file or directory");
}

}  // namespace
}  // namespace allomon::recording
