// The tracker's own memory: its size per live sample, and its budget.  Requests that no machine can
// satisfy.
#include "tracker/base/own_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/range/handle_word.h"
#include "gtest/gtest.h"
#include "tests/support/in_child.h"
#include "tests/support/ledger.h"
#include "tracker/base/lazy_pages.h"
#include "tracker/core/entry_table.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

using internal::OwnMemory;

struct Keeping {
  std::optional<int> alloc_major(const Allocation&) { return 1; }
  void dealloc_major(int) { ++*deallocs; }
  uint64_t* deallocs;
};

// Mapped memory is never unmapped, so each test has a process of its own.
using testing::InChild;

std::vector<void*> Allocate(size_t count) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) block = SamplingMalloc(64);
  return blocks;
}

void FreeAll(const std::vector<void*>& blocks) {
  for (void* block : blocks) SamplingFree(block);
}

// A limit of data refuses the access, not the mapping.
TEST(OwnMemoryTest, MemoryWithoutAccessIsNone) {
  InChild([] {
    constexpr size_t kBytes = size_t{1} << 20;
    internal::later_pages_are_locked.store(true);
    const rlimit none = {0, 0};
    ASSERT_EQ(setrlimit(RLIMIT_DATA, &none), 0);
    EXPECT_EQ(OwnMemory::Map(kBytes), nullptr);
  });
}

TEST(OwnMemoryTest, PieceOfAWholeChunkLeavesRoomForMore) {
  using internal::BumpArena;
  InChild([] {
    static BumpArena arena;
    EXPECT_EQ(arena.Allocate(BumpArena::kChunkBytes + 1), 0u);
    EXPECT_EQ(arena.Allocate(SIZE_MAX), 0u);
    const BumpArena::Ref small = arena.Allocate(24);
    for (int i = 0; i < 3; ++i) {
      const BumpArena::Ref whole = arena.Allocate(BumpArena::kChunkBytes);
      ASSERT_NE(whole, 0u);
      memset(arena.At(whole), 1, BumpArena::kChunkBytes);
    }
    const BumpArena::Ref behind = arena.Allocate(24);
    ASSERT_NE(behind, 0u);
    memset(arena.At(behind), 1, 24);
    ASSERT_NE(small, 0u);
    EXPECT_EQ(*static_cast<const uint64_t*>(arena.At(small)), 0u);
  });
}

TEST(OwnMemoryTest, TimeWithoutMemoryUsesUpNoArena) {
  using internal::BumpArena;
  InChild([] {
    static BumpArena arena;
    OwnMemory::SetBudgetBytes(OwnMemory::mapped_bytes());
    for (int i = 0; i < 100000; ++i) ASSERT_EQ(arena.Allocate(BumpArena::kChunkBytes / 2), 0u);
    OwnMemory::SetBudgetBytes(internal::kDefaultOwnMemoryBudgetBytes);
    const BumpArena::Ref first = arena.Allocate(8);
    ASSERT_NE(first, 0u);
    EXPECT_LT(first, BumpArena::kChunkBytes / 8);
  });
}

// The entry in own memory, and the word in the allocator's table.
TEST(OwnMemoryTest, MillionLiveSamplesTakeLessThan64BytesEach) {
  static constexpr size_t kSamples = 1000000;
  // Entries are mapped by the segment; the first stacks take a chunk and their tables.
  constexpr size_t kRoundingBytes = size_t{1} << 20;
  constexpr size_t kBytesPerSample = sizeof(internal::Entry) + sizeof(internal::HandleWord);
  static_assert(kBytesPerSample <= 64);
  InChild([] {
    const size_t before = OwnMemory::mapped_bytes();
    uint64_t deallocs = 0;
    const auto id = Tracker::start(1, Keeping{&deallocs});
    ASSERT_TRUE(id.ok());
    const std::vector<void*> blocks = Allocate(kSamples);
    const size_t mapped_bytes = OwnMemory::mapped_bytes() - before;
    EXPECT_LE(mapped_bytes, kSamples * sizeof(internal::Entry) + kRoundingBytes);
    EXPECT_LT(mapped_bytes + kSamples * sizeof(internal::HandleWord), size_t{100} << 20);
    EXPECT_EQ(Tracker::statistics(*id)->dropped_blocks, 0u);
    FreeAll(blocks);
    EXPECT_EQ(deallocs, kSamples);
    FreeAll(Allocate(kSamples));
    EXPECT_EQ(OwnMemory::mapped_bytes() - before, mapped_bytes) << "entries are not used again";
  });
}

TEST(OwnMemoryTest, BeyondTheBudgetSamplesAreDroppedAndTheProgramGoesOn) {
  InChild([] {
    uint64_t deallocs = 0;
    const auto id = Tracker::start(1, Keeping{&deallocs});
    ASSERT_TRUE(id.ok());
    FreeAll(Allocate(1));
    deallocs = 0;
    OwnMemory::SetBudgetBytes(OwnMemory::mapped_bytes() + (size_t{1} << 20));
    static constexpr size_t kBlocks = 100000;
    const std::vector<void*> blocks = Allocate(kBlocks);
    for (void* block : blocks) {
      ASSERT_NE(block, nullptr);
      memset(block, 1, 64);
    }
    const auto full = Tracker::statistics(*id);
    EXPECT_GT(full->dropped_blocks, 0u);
    EXPECT_EQ(full->dropped_bytes, full->dropped_blocks * 64);
    EXPECT_EQ(full->reported_blocks - 1 + full->dropped_blocks, kBlocks);
    FreeAll(blocks);
    // Each that was reported died, once.
    EXPECT_EQ(deallocs, full->reported_blocks - 1);
    FreeAll(Allocate(1000));
    EXPECT_EQ(Tracker::statistics(*id)->dropped_blocks, full->dropped_blocks) << "no room again";
    EXPECT_EQ(deallocs, full->reported_blocks - 1 + 1000);
    ASSERT_TRUE(Tracker::stop().ok());
  });
}

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
