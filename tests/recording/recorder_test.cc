// Recordings between two of their steps: a fork before the file has its name, and threads that
// continue after a recording has ended.
#include "tracker/recording/recorder.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"

namespace allomon::recording {
namespace {

using testing::EveryBlock;
using testing::Recorded;

// The child starts its own recording while its parent's file has no name yet.
TEST(RecorderTest, ChildLeavesTheFileThatItsParentHasNotNamedYet) {
  const std::string path = testing::ScratchPath("unnamed");
  const auto facts = std::make_unique<ProcessFacts>();
  facts->pid = static_cast<uint32_t>(getpid());
  facts->rate = 1;
  auto recorder = std::make_unique<Recorder>(path.c_str(), kLeastLimitBytes, *facts);
  ASSERT_EQ(recorder->Open(), nullptr);
  const pid_t child = fork();
  if (child == 0) {
    recorder->Dropped(1);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(recorder->Commit(), nullptr);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  unlink(path.c_str());
  unlink((path + "." + std::to_string(child)).c_str());
}

TEST(RecorderTest, ChildThatOnlyFreesWhatItsParentAllocatedLeavesNoFile) {
  const Recorded recorded(EveryBlock("frees"));
  void* const block = SamplingMalloc(100);
  const pid_t child = fork();
  if (child == 0) {
    SamplingFree(block);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const std::string left = recorded.path() + "." + std::to_string(child);
  EXPECT_NE(access(left.c_str(), F_OK), 0);
  unlink(left.c_str());
  SamplingFree(block);
}

constexpr int kBlocksOfThread = 8;
using Blocks = std::vector<void*>;

void FreeBlocks(void* blocks) {
  for (void* block : *static_cast<Blocks*>(blocks)) SamplingFree(block);
}

// Destructors of keys, and the C library's frees at a thread's end, run after the tracker's
// destructor.
TEST(RecorderTest, NumbersOfBlocksThatAnEndedThreadFreesAreTakenAgain) {
  const Recorded recorded(EveryBlock("ended"));
  SamplingFree(SamplingMalloc(8));  // the tracker has its key
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, FreeBlocks), 0);
  for (int i = 0; i < 200; ++i) {
    Blocks blocks;
    for (int k = 0; k < kBlocksOfThread; ++k) blocks.push_back(SamplingMalloc(24));
    std::thread([&blocks, key] {
      SamplingFree(SamplingMalloc(8));
      pthread_setspecific(key, &blocks);
    }).join();
  }
  pthread_key_delete(key);
  const Process process = recorded.ReadProcess();
  EXPECT_EQ(process.record.live.samples, 0u);
  EXPECT_LE(process.live.size(), size_t{4 * kBlocksOfThread});
}

// Its stack, and with it its thread-local memory, is larger than what the C library keeps mapped.
pthread_t StartLargeThread(void* (*body)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, size_t{256} << 20), 0);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, &attributes, body, argument), 0);
  pthread_attr_destroy(&attributes);
  return thread;
}

struct LateSample {
  pthread_key_t key;
  std::optional<Recorded> second;
  void* block = nullptr;
};

// The thread samples for a recording that begins after the tracker's destructor has run.
TEST(RecorderTest, NobodyReadsTheWordsOfAThreadThatSampledAfterItsEnd) {
  const Recorded first(EveryBlock("first"));
  SamplingFree(SamplingMalloc(8));  // the tracker has its key
  LateSample late;
  const auto sample_late = [](void* argument) {
    LateSample& ended = *static_cast<LateSample*>(argument);
    ended.second.emplace(EveryBlock("second"));
    ended.block = SamplingMalloc(100);
  };
  ASSERT_EQ(pthread_key_create(&late.key, sample_late), 0);
  const auto body = [](void* argument) -> void* {
    SamplingFree(SamplingMalloc(8));
    pthread_setspecific(static_cast<LateSample*>(argument)->key, argument);
    return nullptr;
  };
  pthread_join(StartLargeThread(body, &late), nullptr);
  pthread_key_delete(late.key);
  ASSERT_NE(late.block, nullptr);
  EXPECT_EQ(late.second->ReadProcess().record.live.samples, 1u);
  SamplingFree(late.block);
  EXPECT_EQ(late.second->ReadProcess().record.live.samples, 0u);
}

TEST(RecorderTest, AllocationThatFailsIsNone) {
  const Recorded recorded(EveryBlock("failed"));
  SamplingFree(SamplingMalloc(8));
  for (const size_t bytes : {size_t{1} << 60, size_t{PTRDIFF_MAX}}) {
    EXPECT_EQ(SamplingMalloc(bytes), nullptr);
    EXPECT_EQ(SamplingCalloc(1, bytes), nullptr);
  }
  SamplingFree(SamplingMalloc(8));
  const Process process = recorded.ReadProcess();
  ASSERT_EQ(process.threads.size(), 1u);
  EXPECT_EQ(process.threads[0].exact_words, 4u);
  EXPECT_EQ(process.threads[0].estimated_words, 4.0);
  EXPECT_EQ(process.damaged, 0u);
  EXPECT_EQ(process.record.missing[Shortage::kSamples], 0u);
  EXPECT_EQ(process.record.missing[Shortage::kBytes], 0u);
}

// A program that allocates address space, of which it uses little.
TEST(RecorderTest, BlocksOfManyTerabytesAreSumsThatAreNotBelowZero) {
  for (const double rate : {1.0, 0.9, 1e-6, 1e-12}) {
    const ClassWeights weights(rate);
    ClassWeight scratch;
    const uint64_t bytes = uint64_t{1} << 47;
    const HalfUnits units =
        UnitsOf(weights.Of(SizeClassOf(bytes), AllocationSource::kMalloc, false, &scratch), bytes);
    EXPECT_GT(units.bytes, int64_t{1} << 40) << rate;
    EXPECT_GE(units.noise, 0) << rate;
    PeakState peak;
    ProcessRecord record = {};
    peak.Begin(weights.units_per_byte());
    for (int i = 0; i < 7; ++i) {
      peak.AddBirth(kOfHalf[0] | kOfHalf[1], units, 1,
                    Written<ProcessRecord>(reinterpret_cast<char*>(&record)));
    }
    EXPECT_EQ(peak.Peak(), 7 * units.bytes) << rate;
    EXPECT_EQ(record.peak_bytes > bytes / 512, true) << rate;
  }
}

}  // namespace
}  // namespace allomon::recording
