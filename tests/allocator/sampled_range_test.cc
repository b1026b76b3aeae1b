// The sampled range with little or no room for it.  Each test runs in a process of its own: the
// range is reserved once.  Its classes of sizes.  And the room for the library's first blocks.
#include "allocator/range/sampled_range.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/host/start_room.h"
#include "allocator/range/size_classes.h"
#include "gtest/gtest.h"
#include "tests/support/in_child.h"
#include "tests/support/ledger.h"
#include "tests/support/profile_bytes.h"
#include "tracker/profile/profile.h"

namespace allomon {
namespace {

using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;
using internal::GiveHandle;
using internal::HandleWord;
using internal::kNotAllocated;
using internal::SampledRange;
using internal::TakeHandle;
using internal::TheSampledRange;

using testing::InChild;

TEST(SampledRangeTest, WithoutARangeSamplesAreDroppedAndCounted) {
  InChild([] {
    SampledRange::SetMaxReservationForTesting(0);
    Ledger ledger;
    const auto id = Tracker::start(1, LedgerTracker(&ledger));
    ASSERT_TRUE(id.ok());
    void* block = SamplingMalloc(100);
    EXPECT_NE(block, nullptr);
    SamplingFree(block);
    EXPECT_TRUE(ledger.blocks.empty());
    EXPECT_EQ(Tracker::statistics(*id)->dropped_blocks, 1u);
    EXPECT_EQ(Tracker::statistics(*id)->dropped_bytes, 100u);
  });
}

// A profile that only counts must not lose blocks that a concurrent tracker could not follow.
TEST(SampledRangeTest, WhoOnlyCountsHearsOfBlocksThatHaveNoPlace) {
  InChild([] {
    SampledRange::SetMaxReservationForTesting(0);
    Ledger ledger;
    ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
    ASSERT_TRUE(Profile::Start().ok());
    void* block = SamplingMalloc(100);
    memset(block, 1, 100);
    block = SamplingRealloc(block, 1000);
    EXPECT_EQ(static_cast<char*>(block)[99], 1);
    EXPECT_EQ(SamplingMalloc(SIZE_MAX), nullptr);
    ASSERT_TRUE(Profile::Stop().ok());
    SamplingFree(block);
    EXPECT_TRUE(ledger.blocks.empty());
    EXPECT_EQ(testing::TotalOf(), 1100);
  });
}

TEST(SampledRangeTest, FullRangeDropsAndGoesOnWhenBlocksAreFreed) {
  InChild([] {
    SampledRange::SetMaxReservationForTesting(size_t{16} << 20);
    Ledger ledger;
    const auto id = Tracker::start(1, LedgerTracker(&ledger));
    ASSERT_TRUE(id.ok());
    std::vector<void*> blocks;
    while (Tracker::statistics(*id)->dropped_blocks == 0) {
      blocks.push_back(SamplingMalloc(30000));
      memset(blocks.back(), 1, 30000);
      ASSERT_LT(blocks.size(), 10000u);
    }
    for (void* block : blocks) SamplingFree(block);
    EXPECT_EQ(ledger.Live(), 0);
    void* again = SamplingMalloc(30000);
    EXPECT_EQ(ledger.Live(), 1);
    SamplingFree(again);
    EXPECT_EQ(ledger.Live(), 0);
  });
}

// Reads /proc/self/statm and maps.
[[maybe_unused]] size_t AddressSpaceBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

size_t Mappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

// The kernel allows a process 65,530 mappings.  Each block is two granules, aligned to its size, so
// there is a hole between any two blocks.
TEST(SampledRangeTest, BlocksWithHolesBetweenThemAreOneMapping) {
  InChild([] {
    ASSERT_TRUE(Tracker::start(1, LedgerTracker(new Ledger)).ok());
    SamplingAlignedAlloc(size_t{64} << 10, 50000);
    const size_t before = Mappings();
    for (int i = 0; i < 500; ++i) {
      ASSERT_NE(SamplingAlignedAlloc(size_t{1} << 20, 50000), nullptr);
      ASSERT_NE(SamplingMalloc(50000), nullptr);
    }
    EXPECT_LT(Mappings(), before + 50);
  });
}

// A program under `ulimit -v` keeps seven eighths of its address space.  (Not with the thread
// sanitizer, which has already mapped all of it.)
#if !defined(__SANITIZE_THREAD__)
TEST(SampledRangeTest, SmallAddressSpaceIsLeftToTheProgram) {
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer's shadow needs more address space than any such limit.
  constexpr rlim_t kLimit = rlim_t{1} << 46;
#else
  constexpr rlim_t kLimit = rlim_t{2} << 30;
#endif
  InChild([] {
    const rlimit limit = {kLimit, kLimit};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    Ledger ledger;
    ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
    void* block = SamplingMalloc(100);
    EXPECT_TRUE(TheSampledRange().Contains(block));
    EXPECT_NE(SamplingMalloc(size_t{512} << 20), nullptr);
    SamplingFree(block);
    EXPECT_EQ(ledger.blocks[0].deallocs, 1);
  });
}

#if !defined(__SANITIZE_ADDRESS__)  // the sanitizer has mapped far more than any limit allows
// If the range were reserved, the program would have nothing left of a limit that it sets later.
TEST(SampledRangeTest, LimitSetAfterTheFirstSampleIsTheProgramsOwn) {
  InChild([] {
    Ledger ledger;
    const auto id = Tracker::start(1, LedgerTracker(&ledger));
    ASSERT_TRUE(id.ok());
    void* block = SamplingMalloc(100);
    const rlim_t limit = AddressSpaceBytes() + (size_t{512} << 20);
    const rlimit limits = {limit, limit};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limits), 0);
    // Exceeds the eighth of the limit that the range may take.
    while (Tracker::statistics(*id)->dropped_blocks == 0) {
      ASSERT_NE(SamplingMalloc(size_t{16} << 20), nullptr);
      ASSERT_LT(AddressSpaceBytes(), limit - (size_t{64} << 20));
    }
    SamplingFree(block);
    EXPECT_EQ(ledger.blocks[0].deallocs, 1);
  });
}

TEST(SampledRangeTest, LimitThatIsRaisedIsNoticed) {
  InChild([] {
    constexpr size_t kBytes = 16 << 10;
    Ledger ledger;
    const auto id = Tracker::start(1, LedgerTracker(&ledger));
    ASSERT_TRUE(id.ok());
    rlimit limits = {};
    getrlimit(RLIMIT_AS, &limits);
    const rlimit tight = {AddressSpaceBytes() + (size_t{512} << 20), limits.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
    while (Tracker::statistics(*id)->dropped_blocks == 0) {
      ASSERT_NE(SamplingMalloc(kBytes), nullptr);
      ASSERT_LT(AddressSpaceBytes(), tight.rlim_cur - (size_t{64} << 20));
    }
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limits), 0);
    const uint64_t reported = Tracker::statistics(*id)->reported_blocks;
    for (int i = 0; i < 2000; ++i) ASSERT_NE(SamplingMalloc(kBytes), nullptr);
    EXPECT_GT(Tracker::statistics(*id)->reported_blocks, reported);
  });
}
#endif

#endif

// Returns the flags that the kernel shows for the mapping of an address; empty without a mapping.
std::string MappingFlagsOf(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const uintptr_t wanted = reinterpret_cast<uintptr_t>(address);
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    if (sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      here = begin <= wanted && wanted < end;
    }
    if (here && line.compare(0, 8, "VmFlags:") == 0) return line + " ";
  }
  return "";
}

// If the range used MAP_NORESERVE, the kernel would grant a block larger than the machine, and kill
// the program when it fills it.
TEST(SampledRangeTest, MemoryIsAccountedForWhenItIsGiven) {
  SampledRange& range = TheSampledRange();
  bool zeroed = false;
  HandleWord* word = nullptr;
  for (const size_t size : {size_t{100}, size_t{100000}}) {
    void* block = range.Allocate(size, 16, &zeroed, &word);
    ASSERT_NE(block, nullptr);
    const std::string flags = MappingFlagsOf(block);
    EXPECT_NE(flags.find(" wr "), std::string::npos) << flags;
    EXPECT_NE(flags.find(" ac "), std::string::npos) << flags;
    EXPECT_EQ(flags.find(" nr "), std::string::npos) << flags;
    range.Release(block, word);
  }
}

TEST(SampledRangeTest, PointersOutsideAreNotTakenForSampledOnes) {
  int on_the_stack = 0;
  EXPECT_FALSE(TheSampledRange().Contains(nullptr));
  EXPECT_FALSE(TheSampledRange().Contains(&on_the_stack));
  EXPECT_FALSE(SampledRange::MayContain(nullptr));
}

TEST(SampledRangeTest, MiddleOfABlockIsNotABlock) {
  SampledRange& range = TheSampledRange();
  bool zeroed = false;
  HandleWord* word = nullptr;
  for (const size_t size : {size_t{100}, size_t{100000}}) {
    char* block = static_cast<char*>(range.Allocate(size, 16, &zeroed, &word));
    ASSERT_NE(block, nullptr);
    *word = 5;
    EXPECT_EQ(TakeHandle(range.Find(block + 16)), kNotAllocated);
    EXPECT_EQ(TakeHandle(range.Find(block)), 5u);
    EXPECT_EQ(TakeHandle(range.Find(block)), kNotAllocated);
    range.Release(block, word);
  }
}

// While the block's dealloc callback runs, another thread samples a block of the same size.
// Threads cache no slots of this size, so the last freed slot would be reused first.
struct AllocatingAtTheEnd {
  void** other;
  std::optional<int> alloc_major(const Allocation&) { return 0; }
  void dealloc_major(int) {
    std::thread([this] { *other = SamplingMalloc(2000); }).join();
  }
};

// checks inv.slot.order
TEST(SampledRangeTest, NobodyGetsTheSlotOfABlockWhoseCallbackStillRuns) {
  InChild([] {
    void* other = nullptr;
    ASSERT_TRUE(Tracker::start(1, AllocatingAtTheEnd{&other}).ok());
    void* block = SamplingMalloc(2000);
    ASSERT_TRUE(TheSampledRange().Contains(block));
    SamplingFree(block);
    EXPECT_TRUE(TheSampledRange().Contains(other));
    EXPECT_NE(other, block);
    EXPECT_EQ(SamplingMalloc(2000), block);
  });
}

#ifndef NDEBUG
TEST(SampledRangeDeathTest, BrokenInvariantsStopADebugBuildByName) {
  InChild([] {
    SampledRange& range = TheSampledRange();
    bool zeroed = false;
    HandleWord* word = nullptr;
    for (const size_t size : {size_t{100}, size_t{100000}}) {
      void* block = range.Allocate(size, 16, &zeroed, &word);
      ASSERT_NE(block, nullptr);
      EXPECT_DEATH(GiveHandle(word, 0), "inv.slot.handle");
      GiveHandle(word, 5);
      EXPECT_DEATH(GiveHandle(word, 6), "inv.slot.word");
      EXPECT_DEATH(range.Release(block, word), "inv.slot.word");
      ASSERT_EQ(TakeHandle(word), 5u);
      range.Release(block, word);
      EXPECT_DEATH(range.Release(block, word), "inv.slot.word");
    }
  });
}
#endif

// Buffers of many sizes, freed and allocated again, do not use the range up.
TEST(SampledRangeTest, FreedRunsAreUsedAgain) {
  SampledRange& range = TheSampledRange();
  bool zeroed = false;
  HandleWord* word = nullptr;
  void* first = range.Allocate(1000000, 16, &zeroed, &word);
  range.Release(first, word);
  EXPECT_EQ(range.Allocate(1000000, 16, &zeroed, &word), first);
}

}  // namespace
}  // namespace allomon

namespace allomon::internal {
namespace {

TEST(SizeClassesTest, EverySizeGetsTheSmallestSlotThatHoldsIt) {
  for (size_t size = 1; size <= kMaxSlotBytes; ++size) {
    const uint32_t slot_class = SlotClass(size);
    ASSERT_LT(slot_class, kSlotClasses);
    ASSERT_GE(SlotBytes(slot_class), size);
    if (slot_class > 0) {
      ASSERT_LT(SlotBytes(slot_class - 1), size);
    }
  }
}

TEST(SizeClassesTest, AtMostAFifthOfASlotAbove128BytesIsUnused) {
  for (size_t size = 129; size <= kMaxSlotBytes; ++size) {
    const double slot = static_cast<double>(SlotBytes(SlotClass(size)));
    ASSERT_LE(slot - static_cast<double>(size), slot / 5) << size;
  }
}

TEST(SizeClassesTest, AlignedSlotsStartAtMultiplesOfTheAlignment) {
  for (size_t alignment = 8; alignment <= kMaxSlotBytes; alignment *= 2) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{5000}, size_t{32768}}) {
      const uint32_t slot_class = AlignedSlotClass(size, alignment);
      ASSERT_LT(slot_class, kSlotClasses);
      EXPECT_EQ(SlotBytes(slot_class) % alignment, 0u);
      EXPECT_GE(SlotBytes(slot_class), size);
    }
  }
}

TEST(SizeClassesTest, LargerThanASlotIsNoSlot) {
  EXPECT_EQ(AlignedSlotClass(kMaxSlotBytes + 1, 16), kSlotClasses);
  EXPECT_EQ(AlignedSlotClass(1, 2 * kMaxSlotBytes), kSlotClasses);
}

TEST(SizeClassesTest, ReciprocalDividesEveryOffsetOfASpanExactly) {
  for (uint32_t slot_class = 0; slot_class < kSlotClasses; ++slot_class) {
    const uint32_t slot_bytes = static_cast<uint32_t>(SlotBytes(slot_class));
    for (uint32_t offset = 0; offset < 65536; ++offset) {
      ASSERT_EQ(SlotIndex(slot_class, offset), offset / slot_bytes);
    }
  }
}

TEST(SizeClassesTest, StepsOfHugeRunsDoNotWrap) {
  const uint64_t units = uint64_t{1} << 40;
  EXPECT_EQ(StepUnits(StepIndex(units)), units);
}

uintptr_t Address(const void* block) { return reinterpret_cast<uintptr_t>(block); }

TEST(StartRoomTest, BlocksLieSideBySideAndAreAligned) {
  testing::InChild([] {
    char* const first = static_cast<char*>(TakeFromStartRoom(3, 8));
    EXPECT_EQ(TakeFromStartRoom(0, 8), first + 16);
    EXPECT_EQ(TakeFromStartRoom(17, 64), first + 64);
    EXPECT_EQ(TakeFromStartRoom(1, 16), first + 96);
    EXPECT_EQ(Address(first) % 64, 0u);
    EXPECT_TRUE(IsInStartRoom(first));
    EXPECT_FALSE(IsInStartRoom(first - 1));
    EXPECT_FALSE(IsInStartRoom(first + kStartRoomBytes));
    EXPECT_EQ(TakeFromStartRoom(1, 128), nullptr);
  });
}

TEST(StartRoomTest, TheLastBlockIsTakenAgainAndNoOther) {
  testing::InChild([] {
    void* const first = TakeFromStartRoom(100, 8);
    void* const second = TakeFromStartRoom(200, 8);
    ReleaseToStartRoom(first, 100);
    ReleaseToStartRoom(second, 0);
    void* const third = TakeFromStartRoom(40, 8);
    EXPECT_GT(Address(third), Address(second));
    ReleaseToStartRoom(third, 40);
    EXPECT_EQ(TakeFromStartRoom(8, 8), third);
  });
}

TEST(StartRoomTest, AFullRoomIsGivenUp) {
  testing::InChild([] {
    size_t blocks = 0;
    while (TakeFromStartRoom(4096, 8) != nullptr) ++blocks;
    EXPECT_EQ(blocks, kStartRoomBytes / 4096);
    void* const last = start_room + kStartRoomBytes - 4096;
    EXPECT_EQ(TakeFromStartRoom(16, 8), nullptr);
    ReleaseToStartRoom(last, 4096);
    EXPECT_NE(TakeFromStartRoom(4096, 8), nullptr);
    // A block that does not fit leaves room for smaller ones.
    EXPECT_EQ(TakeFromStartRoom(kStartRoomBytes, 8), nullptr);
  });
}

// Threads that take and end blocks never have one in common.
TEST(StartRoomTest, ThreadsShareNoBlock) {
  testing::InChild([] {
    std::vector<std::thread> threads;
    for (int number = 1; number <= 2; ++number) {
      threads.emplace_back([number] {
        for (int i = 0; i < 100000; ++i) {
          int* const block = static_cast<int*>(TakeFromStartRoom(sizeof(int), 8));
          if (block == nullptr) return;
          *block = number;
          ASSERT_EQ(*block, number);
          ReleaseToStartRoom(block, sizeof(int));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace allomon::internal
