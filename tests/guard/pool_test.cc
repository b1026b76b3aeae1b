// The pool itself: the time before a freed slot is reused, its predictability, and its memory.
// Nothing here replaces malloc or faults, so the sanitizers run these tests, too.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/guard.h"
#include "allocator/guard/guarded_pool.h"
#include "allocator/host/high_reservation.h"
#include "gtest/gtest.h"
#include "tests/guard/child.h"
#include "tests/support/ledger.h"
#include "tests/support/statistics.h"
#include "tracker/tracker.h"

namespace allomon::internal {
namespace {

using ::allomon::testing::BinomialTolerance;
using ::allomon::testing::ChildEnd;
using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;
using ::allomon::testing::RunChild;
using State = GuardedSlot::State;

// A pool is never destroyed.  Each keeps its 34 MiB of address space.
GuardedPool& NewPool(uint64_t seed) {
  static std::vector<std::unique_ptr<GuardedPool>> pools;
  pools.push_back(std::make_unique<GuardedPool>());
  EXPECT_TRUE(pools.back()->Reserve(seed));
  return *pools.back();
}

void Free(GuardedPool& pool, GuardedSlot* slot) {
  slot->state = State::kEnding;
  pool.Return(slot);
}

// This test runs first, while the process has no other pools.  The sanitizers' shadows need more
// address space than any such limit allows.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(GuardedPool, SmallAddressSpaceIsLeftToTheProgram) {
  const ChildEnd end = RunChild([] {
    const rlimit limit = {size_t{200} << 20, size_t{200} << 20};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    GuardedPool& pool = NewPool(1);
    EXPECT_EQ(pool.slots(), 1024u);
    EXPECT_NE(pool.Take(64, 8), nullptr);
  });
  EXPECT_EQ(end.status, 0) << end.said;
  const ChildEnd none = RunChild([] {
    const rlimit limit = {size_t{1} << 20, size_t{1} << 20};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    const auto pool = std::make_unique<GuardedPool>();
    EXPECT_FALSE(pool->Reserve(1));
    EXPECT_FALSE(pool->Contains(pool.get()));
  });
  EXPECT_EQ(none.status, 0) << none.said;
}
#endif

TEST(GuardedPool, FreedSlotWaitsUntilHalfOfTheFreeOnesHaveBeenTaken) {
  GuardedPool& pool = NewPool(1);
  for (int round = 0; round < 20; ++round) {
    GuardedSlot* freed = pool.Take(64, 8);
    ASSERT_NE(freed, nullptr);
    Free(pool, freed);
    for (size_t i = 0; i < pool.slots() / 2 - 1; ++i) {
      GuardedSlot* other = pool.Take(64, 8);
      ASSERT_NE(other, freed) << i;
      Free(pool, other);
    }
  }
}

TEST(GuardedPool, AFourthMayLive) {
  GuardedPool& pool = NewPool(1);
  std::vector<GuardedSlot*> taken;
  while (GuardedSlot* slot = pool.Take(64, 8)) taken.push_back(slot);
  EXPECT_EQ(taken.size(), 1024u);
  EXPECT_EQ(pool.live(), 1024u);
  for (GuardedSlot* slot : taken) Free(pool, slot);
  EXPECT_EQ(pool.live(), 0u);
  EXPECT_NE(pool.Take(64, 8), nullptr);
}

// The places of earlier blocks do not reveal the place of the next one.
TEST(GuardedPool, NextSlotIsNotToldByThoseBefore) {
  GuardedPool& pool = NewPool(1);
  constexpr int kBlocks = 1000;
  int neighbours = 0;
  int at_end = 0;
  size_t last = 0;
  for (int i = 0; i < kBlocks; ++i) {
    GuardedSlot* slot = pool.Take(64, 8);
    ASSERT_NE(slot, nullptr);
    const size_t page = pool.PageOf(*slot) / pool.page_bytes();
    neighbours += page == last + 2 || last == page + 2 ? 1 : 0;
    at_end += slot->block % pool.page_bytes() != 0 ? 1 : 0;
    last = page;
  }
  // The next slot is one of at least 1,500, and two of them are neighbours of the last one.
  EXPECT_LE(neighbours, kBlocks * 2.0 / 1500 + BinomialTolerance(kBlocks, 2.0 / 1500));
  EXPECT_NEAR(at_end, kBlocks / 2, BinomialTolerance(kBlocks, 0.5));
}

TEST(GuardedPool, SeedRepeatsTheChoiceOfSlotsButNotTheirAddresses) {
  GuardedPool& pool = NewPool(7);
  GuardedPool& same = NewPool(7);
  GuardedPool& other = NewPool(8);
  const uintptr_t base = pool.PageOf(*pool.Take(64, 8));
  const uintptr_t same_base = same.PageOf(*same.Take(64, 8));
  other.Take(64, 8);
  EXPECT_NE(base, same_base);
  int equal_places = 0;
  for (int i = 0; i < 100; ++i) {
    const uintptr_t offset = pool.PageOf(*pool.Take(64, 8)) - base;
    EXPECT_EQ(same.PageOf(*same.Take(64, 8)) - same_base, offset);
    equal_places += other.PageOf(*other.Take(64, 8)) - base == offset ? 1 : 0;
  }
  EXPECT_LT(equal_places, 100);
}

// (The thread sanitizer occupies these addresses.)
#if !defined(__SANITIZE_THREAD__)
// Each of the base's 28 bits is drawn.  The test fails by chance once in 10^75 runs.
TEST(GuardedPool, EveryBitOfTheBaseIsDrawn) {
  uintptr_t ever_set = 0;
  uintptr_t ever_clear = 0;
  for (int i = 0; i < 256; ++i) {
    const uintptr_t base = ReserveHigh(RandomBaseBesideRange(), size_t{1} << 20);
    ASSERT_NE(base, 0u);
    ReleaseHigh(base, size_t{1} << 20);
    EXPECT_NE(base >> kHighBit & 1, 0u);
    ever_set |= base;
    ever_clear |= ~base;
  }
  for (int bit = 12; bit < 40; ++bit) {
    EXPECT_NE(ever_set >> bit & 1, 0u) << bit;
    EXPECT_NE(ever_clear >> bit & 1, 0u) << bit;
  }
}
#endif

TEST(GuardedPool, PageHoldsTheBlockAndItsFillerAndNothingElse) {
  GuardedPool& pool = NewPool(1);
  for (const size_t size : {0, 1, 7, 61, 64, 4095, 4096}) {
    GuardedSlot* slot = pool.Take(size, 8);
    ASSERT_NE(slot, nullptr);
    const unsigned char* page = reinterpret_cast<const unsigned char*>(pool.PageOf(*slot));
    const size_t begin = slot->block - pool.PageOf(*slot);
    EXPECT_LE(begin + size, pool.page_bytes());
    EXPECT_NE(slot->filler, 0);
    for (size_t i = 0; i < pool.page_bytes(); ++i) {
      ASSERT_EQ(page[i], i >= begin && i < begin + size ? 0 : slot->filler) << size << " " << i;
    }
    EXPECT_EQ(pool.FindOverwrite(*slot), 0u);
    Free(pool, slot);
  }
}

// The kernel cannot reclaim memory that a host has locked, so the pool itself must zero the page.
TEST(GuardedPool, BlockInALockedPageIsZeroAgain) {
  GuardedPool& pool = NewPool(1);
  GuardedSlot* slot = pool.Take(64, 8);
  void* page = reinterpret_cast<void*>(pool.PageOf(*slot));
  ASSERT_EQ(mlock(page, pool.page_bytes()), 0);
  memset(reinterpret_cast<void*>(slot->block), 0xee, 64);
  Free(pool, slot);
  GuardedSlot* again = nullptr;
  for (int i = 0; i < 100000 && again != slot; ++i) {
    again = pool.Take(64, 8);
    if (again != slot) Free(pool, again);
  }
  ASSERT_EQ(again, slot);
  for (size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(reinterpret_cast<const unsigned char*>(slot->block)[i], 0) << i;
  }
}

TEST(GuardedPool, EveryOverwrittenByteIsFound) {
  GuardedPool& pool = NewPool(1);
  GuardedSlot* slot = pool.Take(61, 8);
  const uintptr_t page = pool.PageOf(*slot);
  for (uintptr_t at = page; at < page + pool.page_bytes(); ++at) {
    if (at >= slot->block && at < slot->block + 61) continue;
    unsigned char& byte = *reinterpret_cast<unsigned char*>(at);
    byte ^= 0x10;
    ASSERT_EQ(pool.FindOverwrite(*slot), at);
    byte ^= 0x10;
  }
}

// The kernel reads the byte on the test's behalf, and reports whether it could.
bool IsReadable(uintptr_t address) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const bool readable = syscall(SYS_write, ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

// checks inv.guard.page
TEST(GuardedPool, OnlyThePageOfALiveBlockIsAccessible) {
  GuardedPool& pool = NewPool(1);
  GuardedSlot* slot = pool.Take(64, 8);
  ASSERT_NE(slot, nullptr);
  const uintptr_t page = pool.PageOf(*slot);
  EXPECT_TRUE(IsReadable(page));
  EXPECT_TRUE(IsReadable(page + pool.page_bytes() - 1));
  EXPECT_FALSE(IsReadable(page - 1));
  EXPECT_FALSE(IsReadable(page + pool.page_bytes()));
  slot->BecomeLive();
  ASSERT_TRUE(slot->BeginEnding());
  EXPECT_TRUE(IsReadable(page));
  pool.Return(slot);
  EXPECT_FALSE(IsReadable(page));
}

#ifndef NDEBUG
TEST(GuardedPoolDeathTest, BrokenOwnershipStopsADebugBuildByName) {
  GuardedPool& pool = NewPool(1);
  GuardedSlot* slot = pool.Take(64, 8);
  slot->BecomeLive();
  EXPECT_DEATH(slot->BecomeLive(), "inv.guard.owner");
  EXPECT_DEATH(pool.Return(slot), "inv.guard.owner");
  ASSERT_TRUE(slot->BeginEnding());
  pool.Return(slot);
  EXPECT_DEATH(pool.Return(slot), "inv.guard.owner");
}
#endif

TEST(GuardedPool, GuardPageBelongsToTheNearestLiveBlock) {
  GuardedPool& pool = NewPool(1);
  EXPECT_EQ(pool.SlotAt(pool.PageOf(*pool.Take(1, 8)) + 3 * pool.page_bytes()), nullptr);
  std::vector<GuardedSlot*> taken;
  while (GuardedSlot* slot = pool.Take(64, 8)) taken.push_back(slot);
  int pairs = 0;
  for (GuardedSlot* slot : taken) {
    slot->state = State::kLive;
    EXPECT_EQ(pool.SlotAt(slot->block), slot);
  }
  for (GuardedSlot* slot : taken) {
    const uintptr_t behind = pool.PageOf(*slot) + pool.page_bytes();
    GuardedSlot* next = pool.SlotAt(behind + pool.page_bytes());
    if (next == nullptr || behind + pool.page_bytes() != pool.PageOf(*next)) continue;
    ++pairs;
    const uintptr_t end = slot->block + slot->size_bytes;
    const uintptr_t middle = end + (next->block - end) / 2;
    for (uintptr_t at = behind; at < behind + pool.page_bytes(); at += 512) {
      EXPECT_EQ(pool.SlotAt(at), at < middle ? slot : next);
    }
    next->state = State::kEnding;
    EXPECT_EQ(pool.SlotAt(behind + pool.page_bytes() - 1), slot);
    next->state = State::kLive;
  }
  EXPECT_GT(pairs, 50);
}

// The guard starts and stops while other threads allocate.

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
}  // namespace allomon::internal
