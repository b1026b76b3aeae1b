// Requests that no machine can satisfy fail for sampled blocks as for others.
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"

namespace allomon {
namespace {

using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;

// A variable, so that the compiler does not evaluate the size.
volatile size_t requested_bytes;

class ImpossibleSizeTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger_)).ok()); }
  void TearDown() override { Tracker::stop().IgnoreError(); }

  Ledger ledger_;
};

// SIZE_MAX rounded up to a slot is 0: a sampled malloc(SIZE_MAX) gave 16 bytes.
TEST_F(ImpossibleSizeTest, SizesThatWrapWhenRoundedUpAreRefused) {
  for (size_t below = 0; below < 64; ++below) {
    requested_bytes = SIZE_MAX - below;
    EXPECT_EQ(SamplingMalloc(requested_bytes), nullptr) << below;
    EXPECT_EQ(SamplingCalloc(1, requested_bytes), nullptr) << below;
    EXPECT_EQ(SamplingAlignedAlloc(4096, requested_bytes), nullptr) << below;
    void* block = SamplingMalloc(10);
    EXPECT_EQ(SamplingRealloc(block, requested_bytes), nullptr) << below;
    SamplingFree(block);
  }
  EXPECT_EQ(ledger_.Live(), 0);
}

// C requires malloc to set ENOMEM, sampled or not.
TEST_F(ImpossibleSizeTest, MallocSetsErrno) {
  for (const size_t size : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX / 4}) {
    requested_bytes = size;
    errno = 0;
    EXPECT_EQ(SamplingMalloc(requested_bytes), nullptr) << size;
    EXPECT_EQ(errno, ENOMEM) << size;
  }
}

// The sampled range has room for 256 GiB, but the machine has less memory.  If the request
// succeeded, a program that expects nullptr here would be killed when it fills the block.
TEST_F(ImpossibleSizeTest, BlockLargerThanTheMachineIsLeftToTheBackend) {
  requested_bytes = size_t{200} << 30;
  void* sampled = SamplingMalloc(requested_bytes);
  ASSERT_TRUE(Tracker::stop().ok());
  void* plain = SamplingMalloc(requested_bytes);
  EXPECT_EQ(sampled == nullptr, plain == nullptr);
  SamplingFree(sampled);
  SamplingFree(plain);
}

}  // namespace
}  // namespace allomon
