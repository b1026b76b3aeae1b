// The behaviour of malloc and its relatives without memory, as C, POSIX and C++ require it.
#include <errno.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "tests/integration/support/entry_points.h"
#include "tests/integration/support/recorder.h"

namespace allomon::testing {
namespace {

// Sizes that no machine has.  The last one is not a possible size of a C++ object.
constexpr size_t kHuge[] = {size_t{1} << 47, size_t{PTRDIFF_MAX} - 4096,
                            PTRDIFF_MAX,     size_t{PTRDIFF_MAX} + 1,
                            SIZE_MAX - 4096, SIZE_MAX};

class FailureTest : public ::testing::TestWithParam<double> {
 protected:
  const Sampling sampling_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(, FailureTest, ::testing::Values(1.0, 0.5, 0.0), [](const auto& info) {
  return info.param == 1 ? "EachSampled" : info.param == 0 ? "Off" : "HalfSampled";
});

template <typename Call>
auto Watched(Call call) {
  const Watch watch;
  return call();
}

template <typename Call>
void ExpectNoMemory(Call call) {
  errno = 0;
  void* block = Watched(call);
  const int error = errno;
  EXPECT_EQ(block, nullptr);
  EXPECT_EQ(error, ENOMEM);
}

TEST_P(FailureTest, HugeSizesGiveNullAndEnomem) {
  for (const size_t huge : kHuge) {
    SCOPED_TRACE(huge);
    ExpectNoMemory([&] { return malloc(huge); });
    ExpectNoMemory([&] { return calloc(1, huge); });
    ExpectNoMemory([&] { return realloc(nullptr, huge); });
    ExpectNoMemory([&] { return reallocarray(nullptr, 1, huge); });
    ExpectNoMemory([&] { return aligned_alloc(64, huge); });
    ExpectNoMemory([&] { return memalign(4096, huge); });
    ExpectNoMemory([&] { return valloc(huge); });
    ExpectNoMemory([&] { return pvalloc(huge); });
    void* out = &out;
    EXPECT_EQ(Watched([&] { return posix_memalign(&out, 64, huge); }), ENOMEM);
    EXPECT_EQ(out, &out) << "is left alone";
  }
  EXPECT_EQ(Recorder::size(), 0u) << "what does not exist was not allocated";
}

TEST_P(FailureTest, HugeAlignmentsGiveNull) {
  for (const size_t alignment : {size_t{1} << 47, size_t{1} << 62, size_t{1} << 63}) {
    EXPECT_EQ(Watched([&] { return aligned_alloc(alignment, 64); }), nullptr);
    EXPECT_EQ(Watched([&] { return memalign(alignment, 64); }), nullptr);
    void* out = nullptr;
    EXPECT_EQ(Watched([&] { return posix_memalign(&out, alignment, 64); }), ENOMEM);
  }
  EXPECT_EQ(Recorder::size(), 0u);
}

TEST_P(FailureTest, ProductsThatOverflowGiveNullAndEnomem) {
  volatile size_t half = SIZE_MAX / 2 + 1;
  for (const size_t count : {size_t{2}, size_t{3}, SIZE_MAX}) {
    ExpectNoMemory([&] { return calloc(count, half); });
    ExpectNoMemory([&] { return calloc(half, count); });
    ExpectNoMemory([&] { return reallocarray(nullptr, count, half); });
  }
  EXPECT_EQ(Recorder::size(), 0u);
}

TEST_P(FailureTest, ZeroTimesHugeIsNoOverflow) {
  volatile size_t huge = SIZE_MAX;
  void* block = Watched([&] { return calloc(0, huge); });
  EXPECT_NE(block, nullptr);
  free(block);
  block = Watched([&] { return reallocarray(nullptr, huge, 0); });
  EXPECT_NE(block, nullptr);
  free(block);
  EXPECT_EQ(Recorder::Live(), 0u);
}

TEST_P(FailureTest, BadAlignmentsGiveEinval) {
  for (const size_t alignment : {0, 3, 24, 100}) {
    void* out = &out;
    EXPECT_EQ(Watched([&] { return posix_memalign(&out, alignment, 64); }), EINVAL) << alignment;
    EXPECT_EQ(out, &out);
    errno = 0;
    EXPECT_EQ(Watched([&] { return aligned_alloc(alignment, 64); }), nullptr) << alignment;
    EXPECT_EQ(errno, EINVAL);
  }
  // These alignments are powers of two, but smaller than a pointer.
  for (const size_t alignment : {1, 2, 4}) {
    void* out = &out;
    EXPECT_EQ(Watched([&] { return posix_memalign(&out, alignment, 64); }), EINVAL) << alignment;
  }
  EXPECT_EQ(Recorder::size(), 0u);
}

TEST_P(FailureTest, MemalignRoundsAnOddAlignmentUp) {
  for (const size_t alignment : {0, 1, 3, 24, 100, 5000}) {
    void* block = Watched([&] { return memalign(alignment, 64); });
    ASSERT_NE(block, nullptr);
    size_t power = 1;
    while (power < alignment) power *= 2;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % power, 0u) << alignment;
    free(block);
  }
  EXPECT_EQ(Recorder::Live(), 0u);
}

TEST_P(FailureTest, NewOfHugeSizesThrowsBadAlloc) {
  constexpr std::align_val_t kAligned{64};
  for (const size_t huge : kHuge) {
    SCOPED_TRACE(huge);
    EXPECT_THROW(operator new(huge), std::bad_alloc);
    EXPECT_THROW(operator new[](huge), std::bad_alloc);
    EXPECT_THROW(operator new(huge, kAligned), std::bad_alloc);
    EXPECT_THROW(operator new[](huge, kAligned), std::bad_alloc);
    EXPECT_EQ(operator new(huge, std::nothrow), nullptr);
    EXPECT_EQ(operator new[](huge, std::nothrow), nullptr);
    EXPECT_EQ(operator new(huge, kAligned, std::nothrow), nullptr);
    EXPECT_EQ(operator new[](huge, kAligned, std::nothrow), nullptr);
  }
}

int g_handler_calls = 0;

TEST_P(FailureTest, NewHandlerIsCalledUntilItGivesUp) {
  const auto handler = [] {
    if (++g_handler_calls % 3 == 0) std::set_new_handler(nullptr);
  };
  const auto calls_of = [&](auto allocate) {
    g_handler_calls = 0;
    std::set_new_handler(handler);
    allocate();
    return g_handler_calls;
  };
  constexpr size_t kBytes = PTRDIFF_MAX;
  EXPECT_EQ(calls_of([] { EXPECT_THROW(operator new(kBytes), std::bad_alloc); }), 3);
  EXPECT_EQ(calls_of([] { EXPECT_THROW(operator new[](kBytes), std::bad_alloc); }), 3);
  EXPECT_EQ(calls_of([] { EXPECT_EQ(operator new(kBytes, std::nothrow), nullptr); }), 3);
  EXPECT_EQ(
      calls_of([] { EXPECT_THROW(operator new (kBytes, std::align_val_t{64}), std::bad_alloc); }),
      3);
  EXPECT_EQ(calls_of([] { EXPECT_EQ(malloc(kBytes), nullptr); }), 0) << "malloc has no handler";
  std::set_new_handler(nullptr);
}

TEST_P(FailureTest, NewHandlerThatThrowsPassesThroughNewAndNotThroughNothrow) {
  struct OwnError : std::bad_alloc {};
  std::set_new_handler([] { throw OwnError(); });
  constexpr size_t kBytes = PTRDIFF_MAX;
  EXPECT_THROW(operator new(kBytes), OwnError);
  EXPECT_THROW(operator new[](kBytes, std::align_val_t{64}), OwnError);
  EXPECT_EQ(operator new(kBytes, std::nothrow), nullptr);
  EXPECT_EQ(operator new[](kBytes, std::nothrow), nullptr);
  std::set_new_handler(nullptr);
}

TEST_P(FailureTest, NullIsNobodysBlock) {
  const Watch watch;
  free(nullptr);
  operator delete(nullptr);
  operator delete[](nullptr);
  EXPECT_EQ(malloc_usable_size(nullptr), 0u);
  EXPECT_EQ(Recorder::size(), 0u);
}

// A program that continues after a refusal has no trace of the refused allocation.
TEST_P(FailureTest, GoodAllocationsFollowRefusedOnes) {
  for (int i = 0; i < 100; ++i) {
    ExpectNoMemory([&] { return malloc(SIZE_MAX - static_cast<size_t>(i)); });
    void* block = Watched([] { return malloc(100); });
    ASSERT_NE(block, nullptr);
    free(block);
  }
  if (GetParam() == 1) {
    EXPECT_EQ(Recorder::size(), 100u);
  }
  EXPECT_EQ(Recorder::Live(), 0u);
}

}  // namespace
}  // namespace allomon::testing
