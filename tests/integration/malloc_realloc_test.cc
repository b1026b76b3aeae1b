// realloc and reallocarray, from and to every kind of block: sampled and not, small and large.
#include <errno.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>

#include "tests/integration/support/recorder.h"

namespace allomon::testing {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSizes[] = {1, 8, 100, 1025, 5000, 32768, 32769, 200000, kMiB, 5 * kMiB};

// The byte differs from one position to the next and from page to page.
unsigned char ByteAt(size_t i) { return static_cast<unsigned char>(i * 7 + i / 4093 + 1); }

void Fill(void* block, size_t size_bytes) {
  for (size_t i = 0; i < size_bytes; ++i) static_cast<unsigned char*>(block)[i] = ByteAt(i);
}

bool Holds(const void* block, size_t size_bytes) {
  for (size_t i = 0; i < size_bytes; ++i) {
    if (static_cast<const unsigned char*>(block)[i] != ByteAt(i)) return false;
  }
  return true;
}

void* ReallocWatched(void* block, size_t size_bytes) {
  const Watch watch;
  void* moved = realloc(block, size_bytes);
  asm volatile("" : "+r"(moved)::"memory");
  return moved;
}

void* MallocWatched(size_t size_bytes) { return ReallocWatched(nullptr, size_bytes); }

void ForEachPair(void (*test)(size_t from, size_t to)) {
  for (const size_t from : kSizes) {
    for (const size_t to : kSizes) {
      SCOPED_TRACE(::testing::Message() << from << " to " << to);
      test(from, to);
    }
  }
}

TEST(Realloc, SampledToSampledEndsTheOldAndBeginsTheNew) {
  ForEachPair([](size_t from, size_t to) {
    const Sampling sampling(1);
    void* block = MallocWatched(from);
    Fill(block, from);
    block = ReallocWatched(block, to);
    ASSERT_TRUE(Holds(block, std::min(from, to)));
    ASSERT_GE(malloc_usable_size(block), to);
    ASSERT_EQ(Recorder::size(), 2u);
    EXPECT_EQ(Recorder::at(0).deallocs, 1);
    EXPECT_EQ(Recorder::at(1).deallocs, 0);
    EXPECT_EQ(Recorder::at(1).allocation.size_bytes, to);
    memset(block, 1, malloc_usable_size(block));
    free(block);
    EXPECT_EQ(Recorder::Live(), 0u);
    EXPECT_EQ(Recorder::ClosedTwice(), 0u);
  });
}

TEST(Realloc, UnsampledToSampled) {
  ForEachPair([](size_t from, size_t to) {
    void* block = malloc(from);
    Fill(block, from);
    const Sampling sampling(1);
    block = ReallocWatched(block, to);
    ASSERT_TRUE(Holds(block, std::min(from, to)));
    ASSERT_EQ(Recorder::size(), 1u);
    EXPECT_EQ(Recorder::at(0).allocation.size_bytes, to);
    free(block);
    EXPECT_EQ(Recorder::Live(), 0u);
  });
}

TEST(Realloc, SampledToUnsampledEndsTheOld) {
  ForEachPair([](size_t from, size_t to) {
    Sampling sampling(1);
    void* block = MallocWatched(from);
    Fill(block, from);
    sampling.StopButKeepTracking();
    block = ReallocWatched(block, to);
    ASSERT_TRUE(Holds(block, std::min(from, to)));
    EXPECT_EQ(Recorder::size(), 1u);
    EXPECT_EQ(Recorder::Live(), 0u);
    free(block);
    EXPECT_EQ(Recorder::ClosedTwice(), 0u);
  });
}

TEST(Realloc, Unsampled) {
  ForEachPair([](size_t from, size_t to) {
    void* block = malloc(from);
    Fill(block, from);
    block = ReallocWatched(block, to);
    ASSERT_TRUE(Holds(block, std::min(from, to)));
    ASSERT_GE(malloc_usable_size(block), to);
    free(block);
  });
}

TEST(Realloc, GrowsStepByStepWhileHalfIsSampled) {
  const Sampling sampling(0.5);
  std::minstd_rand random(7);
  void* block = nullptr;
  size_t old_bytes = 0;
  for (int i = 0; i < 3000; ++i) {
    const size_t size_bytes = random() % (i % 100 == 0 ? 300000 : 40);
    block = ReallocWatched(block, size_bytes);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(Holds(block, std::min(old_bytes, size_bytes))) << i;
    Fill(block, size_bytes);
    old_bytes = size_bytes;
    ASSERT_LE(Recorder::Live(), 1u);
  }
  free(block);
  EXPECT_GT(Recorder::size(), 1000u);
  EXPECT_LT(Recorder::size(), 3000u);
  EXPECT_EQ(Recorder::Live(), 0u);
  EXPECT_EQ(Recorder::ClosedTwice(), 0u);
}

TEST(Realloc, OfAnotherThreadsSampledBlock) {
  const Sampling sampling(1);
  void* block = MallocWatched(100);
  Fill(block, 100);
  std::thread([&] { block = ReallocWatched(block, 10000); }).join();
  ASSERT_TRUE(Holds(block, 100));
  EXPECT_EQ(Recorder::at(0).deallocs, 1);
  free(block);
  EXPECT_EQ(Recorder::Live(), 0u);
}

TEST(Realloc, FailureLeavesTheOldBlockAndItsTrackingAlone) {
  for (const double rate : {1.0, 0.0}) {
    const Sampling sampling(rate);
    void* block = MallocWatched(1000);
    Fill(block, 1000);
    for (const size_t huge : {SIZE_MAX, size_t{PTRDIFF_MAX}, size_t{1} << 47}) {
      errno = 0;
      ASSERT_EQ(ReallocWatched(block, huge), nullptr);
      EXPECT_EQ(errno, ENOMEM);
    }
    {
      const Watch watch;
      volatile size_t half = SIZE_MAX / 2 + 1;  // volatile: the compiler must not know the value
      errno = 0;
      ASSERT_EQ(reallocarray(block, half, 3), nullptr);
      EXPECT_EQ(errno, ENOMEM);
    }
    EXPECT_TRUE(Holds(block, 1000));
    EXPECT_EQ(Recorder::size(), rate == 1 ? 1u : 0u);
    EXPECT_EQ(Recorder::Live(), Recorder::size());
    free(block);
    EXPECT_EQ(Recorder::Live(), 0u);
  }
}

TEST(Realloc, ToSizeZeroGivesABlock) {
  for (const double rate : {1.0, 0.0}) {
    const Sampling sampling(rate);
    void* block = ReallocWatched(MallocWatched(1000), 0);
    EXPECT_NE(block, nullptr);
    free(block);
    EXPECT_EQ(Recorder::Live(), 0u);
  }
}

TEST(Realloc, OfAnAlignedBlockKeepsItsContents) {
  for (const double rate : {1.0, 0.5, 0.0}) {
    const Sampling sampling(rate);
    for (const size_t alignment : {size_t{64}, size_t{4096}, 2 * kMiB}) {
      void* block = nullptr;
      {
        const Watch watch;
        block = memalign(alignment, 3000);
      }
      Fill(block, 3000);
      block = ReallocWatched(block, 90000);
      ASSERT_TRUE(Holds(block, 3000)) << alignment;
      block = ReallocWatched(block, 50);
      ASSERT_TRUE(Holds(block, 50)) << alignment;
      free(block);
      EXPECT_EQ(Recorder::Live(), 0u);
    }
  }
}

}  // namespace
}  // namespace allomon::testing
