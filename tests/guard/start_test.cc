// The guard starts and stops while other threads allocate.
#include <atomic>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/guard.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"
#include "tracker/tracker.h"

namespace allomon::testing {
namespace {

GuardOptions Everything() {
  GuardOptions options;
  options.one_in = 1;
  options.seed = 1;
  return options;
}

// A thread that sees the guard switched on also sees a complete pool.  The thread sanitizer checks
// this.
TEST(GuardStart, ThreadsThatAllocateMeetAGuardThatBegins) {
  Ledger ledger;
  ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&done] {
      while (!done) SamplingFree(SamplingMalloc(64));
    });
  }
  for (int round = 0; round < 20; ++round) {
    const uint64_t before = ReadGuardStatistics().guarded_blocks;
    const char* error = "";
    ASSERT_TRUE(StartGuard(Everything(), &error)) << error;
    while (ReadGuardStatistics().guarded_blocks < before + 10) std::this_thread::yield();
    StopGuard();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadGuardStatistics().errors, 0u);
  EXPECT_EQ(ReadGuardStatistics().live_blocks, 0u);
  ASSERT_TRUE(Tracker::stop().ok());
}

// A stop between a start and the start's own sampling used to leave that sampling on for ever.  The
// number of trackers that may sample is limited, so such a leak ends in a failure.
TEST(GuardStart, StopsThatMeetStartsLeaveNothingSampling) {
  std::atomic<bool> done{false};
  std::thread stopping([&done] {
    while (!done) StopGuard();
  });
  GuardOptions sampling = Everything();
  sampling.rate = 1;
  const char* error = "";
  for (int starts = 0; starts < 300;) {
    if (StartGuard(sampling, &error)) {
      ++starts;
    } else {
      ASSERT_STREQ(error, "guard: it is on already");
    }
  }
  done = true;
  stopping.join();
  StopGuard();
  ASSERT_TRUE(StartGuard(Everything(), &error)) << error;
  const uint64_t guarded = ReadGuardStatistics().guarded_blocks;
  SamplingFree(SamplingMalloc(64));
  EXPECT_EQ(ReadGuardStatistics().guarded_blocks, guarded) << "nobody samples";
  StopGuard();
}

}  // namespace
}  // namespace allomon::testing
