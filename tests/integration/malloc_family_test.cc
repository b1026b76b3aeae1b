// Each entry point of the malloc replacement, sampled always, half of the time and never.
#include <errno.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <tuple>

#include "allocator/allocator.h"
#include "tests/integration/support/entry_points.h"
#include "tests/integration/support/recorder.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/statistics.h"
#include "tracker/profile/profile.h"

namespace allomon::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Sizes on both sides of each border between kinds of blocks: mimalloc's kinds, and the slots and
// runs of the sampled range.
constexpr size_t kSizes[] = {0,     1,     7,      8,      9,    15,      16,    17,
                             100,   1023,  1024,   1025,   4096, 5000,    32767, 32768,
                             32769, 65536, 100000, 131073, kMiB, kMiB + 1};

class EntryPointTest : public ::testing::TestWithParam<std::tuple<EntryPoint, double>> {
 protected:
  const EntryPoint entry_point_ = std::get<0>(GetParam());
  const double rate_ = std::get<1>(GetParam());
};

std::string NameOf(const ::testing::TestParamInfo<EntryPointTest::ParamType>& info) {
  const double rate = std::get<1>(info.param);
  return std::string(std::get<0>(info.param).name) + (rate == 1   ? "_EachSampled"
                                                      : rate == 0 ? "_Off"
                                                                  : "_HalfSampled");
}

INSTANTIATE_TEST_SUITE_P(, EntryPointTest,
                         ::testing::Combine(::testing::ValuesIn(EntryPoints()),
                                            ::testing::Values(1.0, 0.5, 0.0)),
                         NameOf);

uint64_t WordsOf(size_t bytes) { return (bytes + 7) / 8; }

bool AllBytesAre(const void* block, unsigned char value, size_t size_bytes) {
  const unsigned char* bytes = static_cast<const unsigned char*>(block);
  for (size_t i = 0; i < size_bytes; ++i) {
    if (bytes[i] != value) return false;
  }
  return true;
}

void* AllocateWatched(const EntryPoint& entry_point, size_t size_bytes) {
  const Watch watch;
  return entry_point.allocate(size_bytes);
}

// Fills the block with ones, so that the next user of its memory would notice.
void ExpectGoodBlock(const EntryPoint& entry_point, void* block, size_t size_bytes) {
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % entry_point.AlignmentOf(size_bytes), 0u);
  const size_t usable_bytes = malloc_usable_size(block);
  ASSERT_GE(usable_bytes, entry_point.RequestedBytes(size_bytes));
  if (entry_point.zeroed) {
    EXPECT_TRUE(AllBytesAre(block, 0, size_bytes)) << size_bytes;
  }
  memset(block, 0xff, usable_bytes);
}

void ExpectTrueRecord(const EntryPoint& entry_point, size_t size_bytes, const Record& record) {
  const size_t requested = entry_point.RequestedBytes(size_bytes);
  const Allocation& allocation = record.allocation;
  EXPECT_EQ(allocation.size_bytes, requested);
  EXPECT_EQ(allocation.size_words, WordsOf(requested));
  EXPECT_EQ(allocation.source, AllocationSource::kMalloc);
  EXPECT_GE(allocation.n_samples, 1u);
  EXPECT_LE(allocation.n_samples, WordsOf(requested) + 1);
  ASSERT_FALSE(allocation.callstack.empty());
  EXPECT_TRUE(entry_point.Calls(allocation.callstack[0]))
      << entry_point.name << " of " << size_bytes << ": frame 0 is not the caller";
}

TEST_P(EntryPointTest, EachBlockIsTrueAndEndsOnce) {
  const Sampling sampling(rate_);
  for (const size_t size_bytes : kSizes) {
    SCOPED_TRACE(size_bytes);
    // The test runs twice.  The second time the memory is full of ones.
    for (int i = 0; i < 2; ++i) {
      const size_t before = Recorder::size();
      void* block = AllocateWatched(entry_point_, size_bytes);
      ExpectGoodBlock(entry_point_, block, size_bytes);
      const size_t reported = Recorder::size() - before;
      if (rate_ == 0) {
        ASSERT_EQ(reported, 0u);
      }
      if (rate_ == 1) {
        ASSERT_EQ(reported, 1u);
        EXPECT_EQ(Recorder::at(before).allocation.n_samples,
                  WordsOf(entry_point_.RequestedBytes(size_bytes)) + 1);
      }
      ASSERT_LE(reported, 1u);
      if (reported == 1) ExpectTrueRecord(entry_point_, size_bytes, Recorder::at(before));
      ASSERT_EQ(Recorder::Live(), reported) << "while the block lives";
      entry_point_.release(block, size_bytes);
      ASSERT_EQ(Recorder::Live(), 0u) << "after its end";
    }
  }
  EXPECT_EQ(Recorder::ClosedTwice(), 0u);
}

// The blocks are live at once, so that they would overlap if they could.  They are freed in another
// order.
TEST_P(EntryPointTest, ManyLiveBlocksKeepTheirContents) {
  const Sampling sampling(rate_);
  constexpr size_t kBlocks = 500;
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  blocks.reserve(kBlocks);
  for (size_t i = 0; i < kBlocks; ++i) {
    const size_t size_bytes = 1 + i * 7 % 300;
    blocks.emplace_back(static_cast<unsigned char*>(AllocateWatched(entry_point_, size_bytes)),
                        size_bytes);
    ASSERT_NE(blocks.back().first, nullptr);
    memset(blocks.back().first, static_cast<int>(i % 251), size_bytes);
  }
  const size_t reported = Recorder::size();
  EXPECT_EQ(Recorder::Live(), reported);
  for (size_t step = 0; step < kBlocks; ++step) {
    const size_t i = step * 7 % kBlocks;
    const auto [block, size_bytes] = blocks[i];
    ASSERT_TRUE(AllBytesAre(block, static_cast<unsigned char>(i % 251), size_bytes));
    entry_point_.release(block, size_bytes);
  }
  EXPECT_EQ(Recorder::Live(), 0u);
  EXPECT_EQ(Recorder::ClosedTwice(), 0u);
  EXPECT_EQ(Recorder::size(), reported) << "giving back is no allocation";
}

TEST_P(EntryPointTest, SampledAsOftenAsTheLawSays) {
  const Sampling sampling(rate_);
  constexpr int kBlocks = 4000;
  constexpr size_t kSizeBytes = 8;  // two trials
  for (int i = 0; i < kBlocks; ++i) {
    entry_point_.release(AllocateWatched(entry_point_, kSizeBytes), kSizeBytes);
  }
  const double trials = static_cast<double>(WordsOf(entry_point_.RequestedBytes(kSizeBytes)) + 1);
  const double p = 1 - std::pow(1 - rate_, trials);
  const double sigma = std::sqrt(kBlocks * p * (1 - p));
  EXPECT_LE(std::abs(static_cast<double>(Recorder::size()) - kBlocks * p), kSigmas * sigma)
      << "expected " << kBlocks * p;
}

TEST_P(EntryPointTest, FreedByAnotherThread) {
  const Sampling sampling(rate_);
  for (const size_t size_bytes : {size_t{1}, size_t{100}, size_t{5000}, size_t{40000}, kMiB}) {
    void* block = AllocateWatched(entry_point_, size_bytes);
    const size_t reported = Recorder::size();
    ASSERT_EQ(Recorder::Live(), rate_ == 1 ? 1u : Recorder::Live());
    pthread_t other = {};
    std::thread([&] {
      other = pthread_self();
      entry_point_.release(block, size_bytes);
    }).join();
    EXPECT_EQ(Recorder::Live(), 0u);
    if (reported > 0 && rate_ == 1) {
      EXPECT_TRUE(pthread_equal(Recorder::at(reported - 1).dealloc_thread, other));
    }
  }
  EXPECT_EQ(Recorder::ClosedTwice(), 0u);
}

TEST_P(EntryPointTest, AllocatedByAThreadThatHasExited) {
  const Sampling sampling(rate_);
  void* block = nullptr;
  std::thread([&] { block = AllocateWatched(entry_point_, 200); }).join();
  ExpectGoodBlock(entry_point_, block, 200);
  EXPECT_EQ(Recorder::Live(), Recorder::size());
  entry_point_.release(block, 200);
  EXPECT_EQ(Recorder::Live(), 0u);
}

TEST_P(EntryPointTest, HundredMebibytes) {
  const Sampling sampling(rate_);
  constexpr size_t kBytes = 100 * kMiB;
  for (int i = 0; i < 2; ++i) {
    auto* block = static_cast<unsigned char*>(AllocateWatched(entry_point_, kBytes));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % entry_point_.AlignmentOf(kBytes), 0u);
    ASSERT_GE(malloc_usable_size(block), kBytes);
    // All pages are mapped (msync).  A first touch takes up to 16 us, so every page is touched and
    // read only if the block must be zero, otherwise one page in 17.
    const size_t before = reinterpret_cast<uintptr_t>(block) % 4096;
    EXPECT_EQ(msync(block - before, before + kBytes, MS_ASYNC), 0);
    const size_t stride_bytes = entry_point_.zeroed ? 4096 : 17 * 4096;
    for (size_t at = 0; at < kBytes; at += stride_bytes) {
      if (entry_point_.zeroed) {
        ASSERT_EQ(block[at], 0) << at;
      }
      block[at] = 0xff;
    }
    block[kBytes - 1] = 0xff;
    EXPECT_EQ(Recorder::Live(), rate_ == 0 ? 0u : 1u);
    entry_point_.release(block, kBytes);
    EXPECT_EQ(Recorder::Live(), 0u);
  }
}

TEST_P(EntryPointTest, FreeKeepsErrno) {
  const Sampling sampling(rate_);
  for (const size_t size_bytes : {size_t{0}, size_t{100}, size_t{40000}, 40 * kMiB}) {
    void* block = AllocateWatched(entry_point_, size_bytes);
    errno = ESRCH;
    entry_point_.release(block, size_bytes);
    EXPECT_EQ(errno, ESRCH) << size_bytes;
  }
  errno = ESRCH;
  entry_point_.release(nullptr, 0);
  EXPECT_EQ(errno, ESRCH);
}

TEST_P(EntryPointTest, GoodAllocationKeepsErrno) {
  const Sampling sampling(rate_);
  for (const size_t size_bytes : {size_t{0}, size_t{100}, size_t{40000}, 40 * kMiB}) {
    errno = ESRCH;
    void* block = AllocateWatched(entry_point_, size_bytes);
    EXPECT_EQ(errno, ESRCH) << size_bytes;
    entry_point_.release(block, size_bytes);
  }
}

// The tracker stops between birth and death: no callback runs, and the memory is still good.
TEST_P(EntryPointTest, BlocksOutliveTheirTracker) {
  void* block = nullptr;
  {
    const Sampling sampling(rate_);
    block = AllocateWatched(entry_point_, 300);
  }
  ExpectGoodBlock(entry_point_, block, 300);
  entry_point_.release(block, 300);
  EXPECT_EQ(Recorder::Live(), Recorder::size());
}

TEST_P(EntryPointTest, ThreadWithASmallStack) {
  const Sampling sampling(rate_);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 64 << 10), 0);
  pthread_t thread;
  EntryPoint entry_point = entry_point_;
  const auto run = [](void* argument) -> void* {
    const EntryPoint& entry_point = *static_cast<EntryPoint*>(argument);
    for (size_t i = 0; i < 1000; ++i) {
      void* block = AllocateWatched(entry_point, i);
      entry_point.release(block, i);
    }
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &entry_point), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  if (rate_ == 1) {
    EXPECT_EQ(Recorder::size(), 1000u);
  }
  EXPECT_EQ(Recorder::Live(), 0u);
}

// Four threads allocate, write, pass blocks to each other, and free the blocks that they receive.
TEST_P(EntryPointTest, ThreadsThatFreeEachOthersBlocks) {
  const Sampling sampling(rate_);
  constexpr size_t kSlots = 64;
  static std::atomic<unsigned char*> slots[kSlots];
  const auto release = [this](unsigned char* block) {
    if (block == nullptr) return;
    size_t size_bytes = 0;
    memcpy(&size_bytes, block, sizeof(size_bytes));
    const unsigned char mark = static_cast<unsigned char>(size_bytes);
    EXPECT_TRUE(AllBytesAre(block + sizeof(size_t), mark, size_bytes - sizeof(size_t)));
    entry_point_.release(block, size_bytes);
  };
  const auto work = [&](unsigned seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < 2000; ++i) {
      const size_t size_bytes = sizeof(size_t) + random() % 600;
      auto* block = static_cast<unsigned char*>(AllocateWatched(entry_point_, size_bytes));
      memset(block, static_cast<int>(size_bytes & 0xff), size_bytes);
      memcpy(block, &size_bytes, sizeof(size_bytes));
      release(slots[random() % kSlots].exchange(block));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : slots) release(slot.exchange(nullptr));
  if (rate_ == 1) {
    EXPECT_EQ(Recorder::size(), 8000u);
  }
  EXPECT_EQ(Recorder::Live(), 0u);
  EXPECT_EQ(Recorder::ClosedTwice(), 0u);
}

// The targets of tests/backends run this binary over another backend.
TEST(Backend, IsTheOneThatTheTargetIsNamedAfter) {
  const char* target = getenv("TEST_TARGET");  // set by Bazel
  const std::string prefix = "//tests/backends:";
  if (target == nullptr || std::string(target).rfind(prefix, 0) != 0) return;
  EXPECT_EQ(target, prefix + AllocatorBackendName() + "_backend_test");
}

// A profile counts blocks without following any, so they stay where malloc would place them.
class ProfiledTest : public ::testing::TestWithParam<EntryPoint> {};

INSTANTIATE_TEST_SUITE_P(, ProfiledTest, ::testing::ValuesIn(EntryPoints()),
                         [](const auto& info) { return info.param.name; });

TEST_P(ProfiledTest, CountedBlocksAreAsGoodAsOthers) {
  ASSERT_TRUE(Profile::Start().ok());
  for (const size_t size_bytes : kSizes) {
    SCOPED_TRACE(size_bytes);
    for (int i = 0; i < 2; ++i) {
      const ProfileData unit = Profile::Malloc().value();
      void* block = nullptr;
      {
        const ScopedProfileData here(unit);
        block = GetParam().allocate(size_bytes);
      }
      ExpectGoodBlock(GetParam(), block, size_bytes);
      EXPECT_EQ(static_cast<uint64_t>(TotalOf(unit)), GetParam().RequestedBytes(size_bytes));
      EXPECT_TRUE(Profile::Free(unit).ok());
      GetParam().release(block, size_bytes);
    }
  }
  ASSERT_TRUE(Profile::Stop().ok());
}

TEST(Profiled, ReallocIsCountedAndKeepsContents) {
  ASSERT_TRUE(Profile::Start().ok());
  const ProfileData unit = Profile::Malloc().value();
  auto* block = static_cast<unsigned char*>(malloc(10));
  memset(block, 'x', 10);
  {
    const ScopedProfileData here(unit);
    block = static_cast<unsigned char*>(realloc(block, 5000));
    ASSERT_TRUE(AllBytesAre(block, 'x', 10));
    memset(block, 'y', 5000);
    block = static_cast<unsigned char*>(realloc(block, 700));
    ASSERT_TRUE(AllBytesAre(block, 'y', 700));
  }
  EXPECT_EQ(TotalOf(unit), 5700);
  free(block);
  ASSERT_TRUE(Profile::Stop().ok());
}

}  // namespace
}  // namespace allomon::testing
