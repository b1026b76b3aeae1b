// A row keeps its part of the peak, even if threads are stopped between two steps of keeping it.
// Sums of a thread that are as large as after a year.
#include "tracker/recording/rows.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <thread>
#include <vector>

#include "tests/recording/recorded.h"
#include "tracker/recording/peak.h"
#include "tracker/recording/recorder_lock.h"
#include "tracker/recording/threads.h"
#include "tracker/recording/timeline.h"

namespace allomon::recording {
namespace {

constexpr uint64_t kFileBytes = uint64_t{1} << 20;
constexpr uint8_t kBoth = kOfHalf[0] | kOfHalf[1];
constexpr uint64_t kBytes = 100;
constexpr HalfUnits kUnits = {100, 0};

// A file for records.
class RecordsFile {
 public:
  RecordsFile() {
    FilePath path = {};
    strncpy(path.text, memory_.path().c_str(), sizeof(path.text) - 1);
    EXPECT_EQ(file_.Open(path, kFileBytes), nullptr);
    source_.Begin(&file_, 1);
  }
  ~RecordsFile() { file_.Close(); }
  RecordsFile(const RecordsFile&) = delete;
  RecordsFile& operator=(const RecordsFile&) = delete;

  int fd() const { return memory_.fd(); }
  SegmentSource* source() { return &source_; }
  // Reads the first records of the first segment.
  template <typename Record>
  void Read(Record* records, size_t count) const {
    const auto bytes = static_cast<ssize_t>(count * sizeof(Record));
    EXPECT_EQ(pread(fd(), records, bytes, kSegmentBytes + sizeof(SegmentHeader)), bytes);
  }

 private:
  const testing::MemoryFile memory_{kFileBytes};
  SegmentFile file_;
  SegmentSource source_;
};

// A table with one row of sampled blocks of kBytes, in its own file.
class RowTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    mapped_ = static_cast<char*>(mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, file_.fd(), 0));
    ASSERT_NE(mapped_, MAP_FAILED);
    process_ = Written<ProcessRecord>(reinterpret_cast<char*>(&record_));
    rows_.Begin(file_.source(), process_.In(&ProcessRecord::records, &Counts::rows),
                process_.In(&ProcessRecord::records, &Counts::saved));
    peak_.Begin(1);
    AddRow(kBoth);
    ASSERT_EQ(row_, 1u);
  }
  void TearDown() override {
    munmap(mapped_, kFileBytes);
    rows_.Clear();
  }

  void AddRow(uint8_t flags) {
    const RecorderHold hold;
    row_ = rows_.Add({1, 0, SizeClassOf(kBytes), 3, flags}, 0, {}, peak_);
  }
  void Birth() {
    EXPECT_TRUE(rows_.AddBlock(row_, kBytes, peak_));
    peak_.AddBirth(kBoth, kUnits, 1, process_);
  }
  void Death() {
    EXPECT_TRUE(rows_.RemoveBlock(row_, kBytes, peak_));
    peak_.AddDeath(kBoth, kUnits);
  }

  // Returns the row's blocks at the peak of a half, as the file has them.
  uint64_t BlocksAtPeak(uint32_t half) const {
    const Row& row = *RecordOf<Row>(SegmentKind::kRows, row_);
    if (row.peak_epoch[half] != record_.peak_epoch[half]) return row.blocks - row.freed_blocks;
    return row.saved[half] == 0
               ? 0
               : RecordOf<SavedCount>(SegmentKind::kSaved, row.saved[half])->blocks;
  }

  PeakState peak_;
  RowTable rows_;
  uint32_t row_ = 0;

 private:
  using Counts = decltype(ProcessRecord::records);

  // Returns a record of the first segment of its kind.
  template <typename Record>
  const Record* RecordOf(SegmentKind kind, uint32_t number) const {
    for (uint64_t at = kSegmentBytes; at < kFileBytes; at += kSegmentBytes) {
      if (reinterpret_cast<const SegmentHeader*>(mapped_ + at)->kind != kind) continue;
      return reinterpret_cast<const Record*>(mapped_ + at + sizeof(SegmentHeader)) + number - 1;
    }
    ADD_FAILURE() << "no such segment";
    abort();
  }

  RecordsFile file_;  // closed after the tables are cleared
  char* mapped_ = nullptr;
  ProcessRecord record_ = {};
  Written<ProcessRecord> process_;
};

TEST_F(RowTableTest, WhatWasLiveAtThePeakIsKept) {
  for (int i = 0; i < 10; ++i) Birth();
  for (int i = 0; i < 4; ++i) Death();
  for (int i = 0; i < 2; ++i) Birth();
  for (uint32_t half = 0; half < kHalves; ++half) EXPECT_EQ(BlocksAtPeak(half), 10u);
}

TEST_F(RowTableTest, TypesOfOneStackHaveRowsOfTheirOwn) {
  const RecorderHold hold;
  RowKey key = {7, 0, SizeClassOf(kBytes), 0, kBoth};
  std::vector<uint32_t> rows;
  for (const uint16_t type : {0, 1, 4096}) {
    key.type = type;
    EXPECT_EQ(rows_.Find(key), 0u);
    rows.push_back(rows_.Add(key, 0, {}, peak_));
    EXPECT_EQ(rows_.KeyOf(rows.back()).type, type);
    EXPECT_EQ(rows_.KeyOf(rows.back()).flags, kBoth);
  }
  for (const uint16_t type : {0, 1, 4096}) {
    key.type = type;
    EXPECT_EQ(rows_.Find(key), rows[type == 0 ? 0 : type == 1 ? 1 : 2]);
  }
}

// A thread that was stopped since before the last peak: it still has the number of an earlier one.
TEST_F(RowTableTest, ThreadThatKnowsAnEarlierPeakDoesNotUndoWhatWasKept) {
  for (int i = 0; i < 9; ++i) Birth();
  auto before = std::make_unique<PeakState>();
  before->Begin(1);
  ProcessRecord unused = {};
  for (int i = 0; i < 9; ++i) {
    before->AddBirth(kBoth, kUnits, 1, Written<ProcessRecord>(reinterpret_cast<char*>(&unused)));
  }
  Birth();
  ASSERT_LT(before->Epoch(0), peak_.Epoch(0));
  for (int i = 0; i < 5; ++i) Death();
  EXPECT_TRUE(rows_.RemoveBlock(row_, kBytes, *before));
  peak_.AddDeath(kBoth, kUnits);
  Death();
  for (uint32_t half = 0; half < kHalves; ++half) EXPECT_EQ(BlocksAtPeak(half), 10u);
}

// The thread that keeps the live blocks of the peak is stopped while it waits for the recorder's
// lock, and other threads free meanwhile.
TEST_F(RowTableTest, NothingChangesWhileAThreadKeepsWhatWasLive) {
  AddRow(kOfHalf[1]);  // a row of one half, so that it waits once
  for (int i = 0; i < 10; ++i) Birth();
  std::atomic<int> begun{0};
  std::atomic<int> done{0};
  const auto free_some = [&] {
    begun.fetch_add(1);
    for (int i = 0; i < 4; ++i) Death();
    done.fetch_add(1);
  };
  std::thread first, second;
  {
    const RecorderHold hold;
    first = std::thread(free_some);
    while (begun.load() < 1) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    second = std::thread(free_some);
    // The second thread must wait for the first one; if it did not, it would be done at once.
    for (int i = 0; i < 100 && done.load() < 1; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  first.join();
  second.join();
  EXPECT_EQ(BlocksAtPeak(0), 10u);
}

// The fractions of 2^31 samples at once.
constexpr Wide kMany = {1, uint64_t{1} << 63};

// A fraction's word is full after 2^32 samples of nearly 1: a day of a busy server.
TEST(ThreadTableTest, FractionsAreCarried) {
  RecordsFile file;
  uint32_t count = 0;
  Missing missing;
  ProcessRecord process = {};
  missing.Begin(Written<ProcessRecord>(reinterpret_cast<char*>(&process)));
  ThreadTable threads;
  threads.Begin(file.source(), WrittenField<uint32_t>(&count), {});
  uint32_t number = 0;
  {
    const RecorderHold hold;
    number = threads.Enter(1, &missing);
  }
  ASSERT_EQ(number, 1u);
  for (int i = 0; i < 5; ++i) {
    threads.AddSample(number, {kMany, kMany, 1, 1, 1, 1, 0});
    threads.RemoveBlock(number, kMany, kMany);
  }
  Thread record;
  file.Read(&record, 1);
  constexpr uint64_t kExpected = 5 + 5 * (uint64_t{1} << 31);
  for (const Wide& sum : {record.blocks, record.bytes, record.freed_blocks, record.freed_bytes}) {
    EXPECT_EQ(sum.whole, kExpected);
    EXPECT_EQ(sum.fraction, 0u);
  }
  threads.Clear();
}

// One of two threads waits for the lock to add its point, and the other leaves its own point to it.
// What was allocated meanwhile is not said to be of the time before.
TEST(TimelineTest, APointAfterOneThatWaitedIsOfItsOwnTime) {
  constexpr uint64_t kMilli = 1'000'000;
  RecordsFile file;
  uint32_t count = 0;
  uint64_t interval_nanos = 0;
  Timeline timeline;
  timeline.Begin(file.source(), WrittenField<uint32_t>(&count),
                 WrittenField<uint64_t>(&interval_nanos));
  std::atomic<int> n_returned{0};
  std::vector<std::thread> threads;
  {
    const RecorderHold hold;
    for (uint64_t i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        timeline.Close((500 + i) * kMilli, 10 + i, 0, 1, 0);
        n_returned.fetch_add(1);
      });
    }
    while (n_returned.load() == 0) std::this_thread::yield();
    // The one that did not return has the timeline.  It leaves an interval that ends by 502 ms.
    timeline.Close(600 * kMilli, 700, 0, 1, 0);
    EXPECT_EQ(count, 0u);
  }
  for (std::thread& thread : threads) thread.join();
  timeline.Close(900 * kMilli, 1000, 0, 1, 0);
  timeline.Close(950 * kMilli, 1001, 0, 1, 0);
  ASSERT_EQ(count, 3u);
  TimelinePoint points[3];
  file.Read(points, std::size(points));
  EXPECT_EQ(points[0].nanos, kMilli - 1);
  EXPECT_EQ(points[1].nanos, 900 * kMilli - 1);
  EXPECT_EQ(points[1].allocated_bytes, 1000u);
  EXPECT_EQ(points[2].nanos, 901 * kMilli - 1) << "nothing was sampled since";
  timeline.Clear();
}

}  // namespace
}  // namespace allomon::recording
