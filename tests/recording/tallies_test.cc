// A recording at rate 1 agrees with the program's actions to the byte.
#include <thread>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"

namespace allomon {
namespace {

using recording::EventKind;
using recording::Process;
using recording::Sum;
using testing::EveryBlock;
using testing::Recorded;
using testing::RowOfSize;

__attribute__((noinline)) void* AllocateHere(size_t size_bytes) {
  void* const block = SamplingMalloc(size_bytes);
  asm volatile("" ::: "memory");
  return block;
}
__attribute__((noinline)) void* AllocateThere(size_t size_bytes) {
  void* const block = SamplingMalloc(size_bytes);
  asm volatile("nop" ::: "memory");
  return block;
}

void ExpectSum(const Sum& sum, uint64_t blocks, uint64_t bytes) {
  EXPECT_EQ(sum.samples, blocks);
  EXPECT_EQ(sum.blocks, static_cast<double>(blocks));
  EXPECT_EQ(sum.bytes, static_cast<double>(bytes));
}

TEST(TalliesTest, RowsSayWhatWasAllocatedAndWhatIsLive) {
  const Recorded recorded(EveryBlock("rows"));
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(AllocateHere(1000));
  for (int i = 0; i < 60; ++i) SamplingFree(blocks[static_cast<size_t>(i)]);
  const Process process = recorded.ReadProcess();
  const Process::Row row = RowOfSize(process, 1000);
  ExpectSum(row.allocated, 100, 100'000);
  ExpectSum(row.live, 40, 40'000);
  ExpectSum(row.peak, 100, 100'000);
  ExpectSum(process.record.allocated, 100, 100'000);
  ExpectSum(process.record.live, 40, 40'000);
  ExpectSum(process.record.peak, 100, 100'000);
  for (size_t i = 60; i < 100; ++i) SamplingFree(blocks[i]);
  ExpectSum(recorded.ReadProcess().record.live, 0, 0);
}

// Rows that do not change after the peak are never touched for it.
TEST(TalliesTest, PeakOfEachStackIsWhatWasLiveAtTheProcesssPeak) {
  const Recorded recorded(EveryBlock("peak"));
  void* const early = AllocateHere(5000);
  void* const still = AllocateThere(700);
  SamplingFree(early);
  void* const large = AllocateThere(9000);  // the peak: 9,700
  SamplingFree(large);
  void* const late = AllocateHere(3000);
  const Process process = recorded.ReadProcess();
  ExpectSum(process.record.peak, 2, 9700);
  ExpectSum(RowOfSize(process, 5000).peak, 0, 0);
  ExpectSum(RowOfSize(process, 700).peak, 1, 700);
  ExpectSum(RowOfSize(process, 9000).peak, 1, 9000);
  ExpectSum(RowOfSize(process, 3000).peak, 0, 0);
  SamplingFree(still);
  SamplingFree(late);
}

TEST(TalliesTest, PeakSumsUpOverRandomHistories) {
  const Recorded recorded(EveryBlock("random"));
  std::vector<void*> blocks(64);
  unsigned seed = 7;
  for (int i = 0; i < 20'000; ++i) {
    const size_t at = static_cast<unsigned>(rand_r(&seed)) % blocks.size();
    SamplingFree(blocks[at]);
    blocks[at] = AllocateHere(static_cast<unsigned>(rand_r(&seed)) % 4000);
    if (i % 1000 != 0) continue;
    const Process process = recorded.ReadProcess();
    Sum allocated = {}, live = {}, peak = {};
    for (const Process::Row& row : process.rows) {
      allocated.bytes += row.allocated.bytes;
      live.bytes += row.live.bytes;
      peak.bytes += row.peak.bytes;
      peak.samples += row.peak.samples;
    }
    EXPECT_EQ(allocated.bytes, process.record.allocated.bytes);
    EXPECT_EQ(live.bytes, process.record.live.bytes);
    EXPECT_EQ(peak.bytes, process.record.peak.bytes);
    EXPECT_EQ(peak.samples, process.record.peak.samples);
  }
  for (void* block : blocks) SamplingFree(block);
}

uint64_t BlocksOf(const Process& process, bool temporary, bool other_thread) {
  uint64_t blocks = 0;
  for (const Process::Event& event : process.events) {
    EXPECT_EQ(event.kind, static_cast<uint8_t>(EventKind::kFreed));
    if ((event.log2_bytes < recording::kTemporaryLog2Bytes) == temporary &&
        (event.other_thread != 0) == other_thread) {
      blocks += event.sum.samples;
    }
  }
  return blocks;
}

TEST(TalliesTest, TemporariesAreThoseFreedBefore64KiBMore) {
  const Recorded recorded(EveryBlock("temporaries"));
  void* const block = AllocateHere(100);
  void* const kept = AllocateHere(65'000);
  SamplingFree(block);  // 65,008 bytes later
  EXPECT_EQ(BlocksOf(recorded.ReadProcess(), true, false), 1u);
  void* const lasting = AllocateHere(100);
  void* const more = AllocateHere(65'536);
  SamplingFree(lasting);
  EXPECT_EQ(BlocksOf(recorded.ReadProcess(), false, false), 1u);
  SamplingFree(kept);
  SamplingFree(more);
}

TEST(TalliesTest, FreesByOtherThreadsAreTold) {
  const Recorded recorded(EveryBlock("other"));
  void* const block = AllocateHere(100);
  std::thread([block] { SamplingFree(block); }).join();
  EXPECT_EQ(BlocksOf(recorded.ReadProcess(), true, true), 1u);
  ExpectSum(recorded.ReadProcess().record.live, 0, 0);
}

// Header words are included, because trials are held on them.
TEST(TalliesTest, ExactWordsOfThreadsAreCountedWords) {
  const Recorded recorded(EveryBlock("exact"));
  std::thread([] {
    for (int i = 0; i < 1000; ++i) SamplingFree(AllocateHere(24));
  }).join();
  const Process process = recorded.ReadProcess();
  ASSERT_EQ(process.threads.size(), 1u);
  EXPECT_EQ(process.threads[0].exact_words, 4000u);
  EXPECT_EQ(process.threads[0].estimated_words, 4000u);
  EXPECT_EQ(process.threads[0].estimated_words_variance, 0u);
  EXPECT_TRUE(process.threads[0].ended);
}

// Words in which there was no sample count, too, and those before and after other trackers' starts
// and stops.
TEST(TalliesTest, ExactWordsAreExactAtAnyRate) {
  RecordingOptions options = EveryBlock("rate");
  options.rate = 0.01;
  const Recorded recorded(options);
  std::thread([] {
    for (int i = 0; i < 50; ++i) {
      RecordingOptions other = EveryBlock("beside");
      other.rate = 0.001;
      const absl::StatusOr<RecordingId> beside = Recording::Start(other);
      ASSERT_TRUE(beside.ok());
      for (int k = 0; k < 997; ++k) SamplingFree(AllocateHere(56));
      ASSERT_TRUE(Recording::Stop(*beside).ok());
      unlink(other.path.c_str());
    }
  }).join();
  const Process process = recorded.ReadProcess();
  ASSERT_EQ(process.threads.size(), 1u);
  EXPECT_EQ(process.threads[0].exact_words, 50u * 997 * 8);
}

// A block of one byte is one word and a header word.  Whatever the larger blocks before it stand
// for, only the last sample can stand for words that are not counted yet.
TEST(TalliesTest, ExcessWordsAreThoseOfTheLastSample) {
  RecordingOptions options = EveryBlock("excess");
  options.rate = 0.3;
  const Recorded recorded(options);
  Process running;
  std::thread([&] {
    for (int i = 0; i < 20; ++i) SamplingFree(AllocateHere(i < 10 ? 40 : 200));
    for (int i = 0; i < 1000; ++i) SamplingFree(AllocateHere(1));
    running = recorded.ReadProcess();
  }).join();
  const double p = 1 - .7 * .7;
  ASSERT_EQ(running.threads.size(), 1u);
  EXPECT_DOUBLE_EQ(running.threads[0].excess_words, 2 * (1 - p) / p);
  const Process ended = recorded.ReadProcess();
  ASSERT_EQ(ended.threads.size(), 1u);
  EXPECT_TRUE(ended.threads[0].ended);
  EXPECT_EQ(ended.threads[0].excess_words, 0);
}

TEST(TalliesTest, StackLeadsFromTheInnermostFrameToMain) {
  const Recorded recorded(EveryBlock("stack"));
  void* const block = AllocateHere(321);
  const Process process = recorded.ReadProcess();
  const Process::Row row = RowOfSize(process, 321);
  int depth = 0;
  bool found = false;
  for (uint32_t node = row.node; node != 0; node = process.nodes[node - 1].parent) {
    const uintptr_t address = process.nodes[node - 1].address;
    const auto here = reinterpret_cast<uintptr_t>(&AllocateHere);
    found |= address > here && address < here + 64;
    ++depth;
  }
  EXPECT_TRUE(found);
  EXPECT_GT(depth, 3);
  SamplingFree(block);
}

TEST(TalliesTest, StoppedRecordingSaysSoAndKeepsWhatIsLive) {
  Recorded recorded(EveryBlock("stop"));
  void* const block = AllocateHere(64);
  recorded.Stop();
  SamplingFree(block);
  SamplingFree(AllocateHere(64));
  const Process process = recorded.ReadProcess();
  EXPECT_TRUE(process.record.ended);
  ExpectSum(process.record.live, 1, 64);
  EXPECT_FALSE(Recording::Stop(recorded.id()).ok());
}

TEST(TalliesTest, ThousandThreadsHaveARecordEach) {
  const Recorded recorded(EveryBlock("threads"));
  for (int i = 0; i < 1000; ++i) {
    std::thread([] { SamplingFree(AllocateHere(8)); }).join();
  }
  const Process process = recorded.ReadProcess();
  EXPECT_EQ(process.threads.size(), 1000u);
  for (const Process::Thread& thread : process.threads) {
    EXPECT_EQ(thread.exact_words, 2u);
    EXPECT_TRUE(thread.ended);
  }
}

}  // namespace
}  // namespace allomon
