// Sampled blocks are no easier to corrupt or to predict than other blocks.  "Security" in
// allocator/README.md has the argument; these tests check the parts of it that can be tested.
#include <cstdint>
#include <cstring>

#include "allocator/allocator.h"
#include "allocator/range/sampled_range.h"
#include "gtest/gtest.h"
#include "tests/guard/child.h"
#include "tests/support/ledger.h"
#include "tracker/tracker.h"

namespace allomon::testing {
namespace {

// The backend links its free blocks through their own memory, and a stale pointer can redirect such
// a link.  A freed sampled block holds no link, only its last contents.
TEST(Security, FreedSampledBlockHoldsNothingOfOurs) {
  Ledger ledger;
  ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
  for (const size_t size : {16, 64, 500, 30000}) {
    void* block = SamplingMalloc(size);
    ASSERT_TRUE(internal::TheSampledRange().Contains(block));
    memset(block, 0xee, size);
    SamplingFree(block);
    const volatile unsigned char* stale = static_cast<unsigned char*>(block);
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(stale[i], 0xee) << size << " " << i;
  }
  ASSERT_TRUE(Tracker::stop().ok());
}

// A stale write changes the block that is now at the address, but none of the allocator's lists.
TEST(Security, StaleWriteDoesNotSteerAllocations) {
  Ledger ledger;
  ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
  void* block = SamplingMalloc(64);
  SamplingFree(block);
  memset(block, 0x41, 64);
  for (int i = 0; i < 100; ++i) {
    void* next = SamplingMalloc(64);
    EXPECT_TRUE(internal::TheSampledRange().Contains(next)) << next;
  }
  ASSERT_TRUE(Tracker::stop().ok());
}

// Sampled blocks are unpredictable, because the seed comes from the kernel.
TEST(Security, SeedsDiffer) {
  uint64_t seeds[2];
  for (uint64_t& seed : seeds) {
    Ledger ledger;
    const auto id = Tracker::start(1e-4, LedgerTracker(&ledger));
    ASSERT_TRUE(id.ok());
    seed = Tracker::statistics(*id)->seed;
    ASSERT_TRUE(Tracker::stop().ok());
  }
  EXPECT_NE(seeds[0], seeds[1]);
}

}  // namespace
}  // namespace allomon::testing
