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
  EXPECT_EQ(PeakOf(process, process.rows[0]).samples, 1u);
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

TEST(RecordingTest, TotalsAreThoseOfTheProcessRecord) {
  const std::string file = BytesOf({SmallProcess(), RandomProcess(8, 1, 50, 4)});
  std::vector<ProcessTotals> totals;
  std::string error;
  ASSERT_TRUE(ReadTotals(MemoryBytes(file.data(), file.size()), &totals, &error)) << error;
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[0].pid, 7u);
  EXPECT_EQ(totals[0].program, "/bin/small");
  EXPECT_EQ(totals[0].allocated.samples, 2u);
  EXPECT_EQ(totals[0].live.bytes, WeightOf(100, kRate).bytes);
}

TEST(RecordingTest, WhatIsNoRecordingIsRefusedInOneLine) {
  EXPECT_EQ(ErrorOf("").rfind("empty", 0), 0u);
  EXPECT_EQ(ErrorOf("ALLO"), "not a recording");
  EXPECT_EQ(ErrorOf(std::string(100000, 'x')), "not a recording");
  const std::string file = BytesOf({SmallProcess()});
  EXPECT_EQ(ErrorOf(file.substr(0, 20)), "cut short within its header; copy the file again");
  EXPECT_NE(ErrorOf(With(file, 8, uint32_t{2})).find("version 2"), std::string::npos);
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

TEST(RecordingTest, SumThatWasCaughtBelowZeroIsZero) {
  RecordedProcess process = SmallProcess();
  process.rows[0].live.bytes = static_cast<uint64_t>(-100);
  process.rows[0].live.blocks_scaled = static_cast<uint64_t>(-1);
  const Recording recording = ReadOrDie(BytesOf({process}));
  EXPECT_EQ(recording.processes.at(0).rows[0].live.bytes, 0u);
  EXPECT_EQ(recording.processes[0].rows[0].live.blocks_scaled, 0u);
}

TEST(RecordingTest, CountsBeyondTheFileTakeNoMemory) {
  RecordedProcess process = SmallProcess();
  const std::string file = BytesOf({process});
  const uint64_t counts = kProcessAt + offsetof(ProcessRecord, records);
  for (uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(ErrorOf(With(file, counts + 4 * i, UINT32_MAX)),
              "cut short: parts of process 7 are missing; copy the file again");
  }
}

TEST(RecordingTest, UnknownKindsAndForeignSegmentsAreSkipped) {
  const std::string file = BytesOf({SmallProcess()});
  std::string longer = file;
  for (const uint32_t kind : {0u, 10u, UINT32_MAX}) {
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
