// The records of mapped memory, tested with addresses that are not really mapped.
#include "tracker/mapped_memory.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/ledger.h"
#include "tests/support/statistics.h"
#include "tracker/heap_client.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

using ::allomon::testing::kSigmas;
using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;

constexpr size_t kPageBytes = 4096;
constexpr uintptr_t kBase = uintptr_t{1} << 40;

const void* Page(size_t page) { return reinterpret_cast<const void*>(kBase + page * kPageBytes); }

class MappedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MappedMemory::Begin();
    Start(1);
  }
  void Start(double rate) {
    StartOptions options;
    options.seed = 17;
    const auto id = Tracker::start(rate, LedgerTracker(&ledger_), options);
    ASSERT_TRUE(id.ok());
    id_ = *id;
  }
  void TearDown() override {
    MappedMemory::Unmapped(Page(0), size_t{1} << 36, MappedMemory::Now());
    Tracker::stop().IgnoreError();
  }

  static void Map(size_t page, size_t pages, MappedMemory::Moment before = MappedMemory::Now()) {
    MappedMemory::Mapped(Page(page), pages * kPageBytes, before, ALLOMON_CALLER_FRAME());
  }
  static void Unmap(size_t page, size_t pages, MappedMemory::Moment before = MappedMemory::Now()) {
    MappedMemory::Unmapped(Page(page), pages * kPageBytes, before);
  }
  // Exact while every word is sampled.
  double LivePages() const { return Live().value / kPageBytes; }
  Estimate Live() const {
    Estimate bytes;
    for (const LiveStack& live : Tracker::snapshot(id_)) {
      bytes.value += live.estimate.bytes.value;
      bytes.variance += live.estimate.bytes.variance;
    }
    return bytes;
  }

  Ledger ledger_;
  TrackerId id_;
};

TEST_F(MappedMemoryTest, HoleLeavesBothPartsOfOneBlock) {
  Map(0, 10);
  Unmap(4, 2);
  EXPECT_EQ(LivePages(), 8);
  EXPECT_EQ(ledger_.Live(), 1);
  Unmap(0, 4);
  EXPECT_EQ(LivePages(), 4);
  EXPECT_EQ(ledger_.Live(), 1);
  Unmap(6, 4);
  EXPECT_EQ(ledger_.Live(), 0);
}

TEST_F(MappedMemoryTest, LastPageIsUnmappedAsAWhole) {
  MappedMemory::Mapped(Page(0), 100, MappedMemory::Now(), ALLOMON_CALLER_FRAME());
  Map(1, 1);
  MappedMemory::Unmapped(Page(0), 1, MappedMemory::Now());
  EXPECT_EQ(LivePages(), 1);
}

// Between one thread's munmap and its report, the kernel gave another thread the same addresses.
TEST_F(MappedMemoryTest, LateWordOfAnUnmappingDoesNotEndWhatWasMappedSince) {
  Map(0, 10);
  const MappedMemory::Moment before = MappedMemory::Now();
  Map(2, 3);
  EXPECT_EQ(LivePages(), 10);
  Unmap(0, 10, before);
  EXPECT_EQ(LivePages(), 3);
  EXPECT_EQ(ledger_.Live(), 1);
}

// The other thread unmapped these addresses earlier, and reports it last.
TEST_F(MappedMemoryTest, PlacesOverlapWhileTwoThreadsTellOfThem) {
  const MappedMemory::Moment before = MappedMemory::Now();
  Map(0, 10);
  const MappedMemory::Moment unmapped = MappedMemory::Now();
  Map(5, 10, before);
  Map(20, 1);
  Unmap(0, 10, unmapped);
  EXPECT_EQ(LivePages(), 11);
  Unmap(5, 10);
  EXPECT_EQ(LivePages(), 1);
}

TEST_F(MappedMemoryTest, OthersAreKnownUntilTheyAreUnmapped) {
  MappedMemory::MappedOther(Page(10), 10 * kPageBytes, MappedMemory::Now());
  EXPECT_EQ(LivePages(), 0);
  EXPECT_TRUE(MappedMemory::IsOther(Page(19), kPageBytes));
  EXPECT_FALSE(MappedMemory::IsOther(Page(20), kPageBytes));
  EXPECT_FALSE(MappedMemory::IsOther(Page(0), 10 * kPageBytes));
  Unmap(12, 4);
  EXPECT_TRUE(MappedMemory::IsOther(Page(11), kPageBytes));
  EXPECT_FALSE(MappedMemory::IsOther(Page(12), 4 * kPageBytes));
  EXPECT_TRUE(MappedMemory::IsOther(Page(16), kPageBytes));
  Map(16, 4);
  EXPECT_FALSE(MappedMemory::IsOther(Page(16), 4 * kPageBytes));
}

// Compares with a model of pages: 0 is not mapped, otherwise the number of its mapping.
TEST_F(MappedMemoryTest, AgreesWithAModel) {
  constexpr size_t kPages = 200;
  std::mt19937 random(5);
  std::vector<int> model(kPages, 0);
  for (int round = 1; round <= 20'000; ++round) {
    const size_t page = random() % kPages;
    const size_t pages = 1 + random() % (random() % 4 == 0 ? kPages - page : 8);
    const bool maps = random() % 3 == 0;
    if (page + pages > kPages) continue;
    maps ? Map(page, pages) : Unmap(page, pages);
    for (size_t i = page; i < page + pages; ++i) model[i] = maps ? round : 0;
    if (round % 100 != 0) continue;
    size_t live_pages = 0;
    std::vector<bool> mappings(static_cast<size_t>(round) + 1, false);
    for (const int mapping : model) {
      live_pages += mapping != 0 ? 1 : 0;
      mappings[static_cast<size_t>(mapping)] = mapping != 0;
    }
    ASSERT_EQ(LivePages(), static_cast<double>(live_pages));
    ASSERT_EQ(ledger_.Live(), std::count(mappings.begin(), mappings.end(), true));
  }
}

// Maps as an allocator does that needs aligned pages.  Nearly every mapping of 64 pages is sampled;
// of the remaining page alone, one in 20 would be.
TEST_F(MappedMemoryTest, WhatIsLeftOfAMappingIsSampledAsIfItWereAll) {
  constexpr size_t kMappings = 20'000;
  ASSERT_TRUE(Tracker::stop().ok());
  for (const size_t hole : {size_t{0}, size_t{30}}) {
    Start(1e-4);
    for (size_t i = 0; i < kMappings; ++i) {
      Map(64 * i, 64);
      if (hole != 0) Unmap(64 * i, hole);
      Unmap(64 * i + hole + 1, 63 - hole);
    }
    const Estimate live = Live();
    EXPECT_NEAR(live.value, double{kMappings} * kPageBytes, live.HalfWidth(kSigmas));
    EXPECT_LT(live.HalfWidth(kSigmas), .2 * kMappings * kPageBytes);
    Unmap(0, 64 * kMappings);
    EXPECT_EQ(ledger_.Live(), 0);
    ASSERT_TRUE(Tracker::stop().ok());
  }
  Start(1);
}

TEST_F(MappedMemoryTest, PartsForWhichThereIsNoRoomAreTakenForUnmapped) {
  constexpr size_t kHoles = 70'000;
  Map(0, 2 * kHoles);
  for (size_t i = 0; i < kHoles; ++i) Unmap(2 * i, 1);
  const double left = LivePages();
  EXPECT_LE(left, static_cast<double>(kHoles));
  EXPECT_GE(left, 60'000.0);
  // Removing a part moves those after it; removing from the last one on leaves none.
  for (size_t i = kHoles; i-- > 0;) Unmap(2 * i, 2);
  EXPECT_EQ(ledger_.Live(), 0);
  Map(0, 1);
  EXPECT_EQ(LivePages(), 1);
  EXPECT_EQ(ledger_.Live(), 1);
}

}  // namespace
}  // namespace allomon
