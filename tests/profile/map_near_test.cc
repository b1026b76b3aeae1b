#include "tracker/profile/hooks/map_near.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"

namespace allomon::internal {
namespace {

constexpr uintptr_t kMebibyte = uintptr_t{1} << 20;
constexpr uintptr_t kReach = uintptr_t{1} << 31;
// A jump of x86-64, whose displacement counts from its end.
constexpr uintptr_t kReachBytes = kReach - 64;

struct Pages {
  uintptr_t begin;
  uintptr_t end;
};

// An address space with some pieces taken.  `hint_only`: its kernel puts a mapping elsewhere when a
// piece is in the way.  `mapped` are the mappings not yet unmapped.
struct FakeSpace {
  std::vector<Pages> taken;
  bool hint_only = false;
  std::vector<Pages> mapped;
  int calls = 0;
};
FakeSpace* g_space = nullptr;

constexpr uintptr_t kElsewhere = uintptr_t{1} << 46;

void* MapFake(uintptr_t at, size_t size_bytes) {
  ++g_space->calls;
  // The kernel refuses the lowest addresses to most users.
  bool free = at >= 65536;
  for (const Pages& pages : g_space->taken)
    free &= at + size_bytes <= pages.begin || pages.end <= at;
  if (!free && !g_space->hint_only) return MAP_FAILED;
  const uintptr_t given = free ? at : kElsewhere;
  g_space->mapped.push_back({given, given + size_bytes});
  return reinterpret_cast<void*>(given);
}

void UnmapFake(void* pages, size_t size_bytes) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(pages);
  ASSERT_FALSE(g_space->mapped.empty());
  EXPECT_EQ(g_space->mapped.back().begin, begin);
  EXPECT_EQ(g_space->mapped.back().end, begin + size_bytes);
  g_space->mapped.pop_back();
}

constexpr PageMapper kFakePages = {MapFake, UnmapFake};

class MapNearTest : public ::testing::Test {
 protected:
  MapNearTest() { g_space = &space_; }

  // 0 if there is no room.
  uintptr_t MapFor(Pages code, size_t size_bytes) {
    space_.taken.push_back(code);
    void* const pages = MapNear(code.begin, code.end, size_bytes, kReachBytes, kFakePages);
    const uintptr_t at = reinterpret_cast<uintptr_t>(pages);
    if (at == 0) {
      EXPECT_TRUE(space_.mapped.empty());
      return 0;
    }
    EXPECT_EQ(space_.mapped.size(), 1u);
    EXPECT_EQ(space_.mapped.back().begin, at);
    // Each byte of the pages is within reach of each byte of the code.
    EXPECT_LT(at < code.begin ? code.end - at : at + size_bytes - code.begin, kReach);
    EXPECT_GE(at, kMebibyte);
    return at;
  }

  FakeSpace space_;
};

TEST_F(MapNearTest, NextBelowTheCodeIfThatIsFree) {
  const Pages code = {0x555555554000, 0x555555700000};
  const uintptr_t at = MapFor(code, 2 * kMebibyte + 1);
  EXPECT_LT(at, code.begin);
  EXPECT_GE(at, code.begin - 4 * kMebibyte);
  EXPECT_EQ(space_.calls, 1);
}

// The loader or the program has mapped things below.
TEST_F(MapNearTest, BelowWhatLiesBelowTheCode) {
  const Pages code = {0x555555554000, 0x555555700000};
  space_.taken.push_back({code.begin - 100 * kMebibyte, code.begin - kMebibyte});
  EXPECT_LT(MapFor(code, 2 * kMebibyte), code.begin - 100 * kMebibyte);
}

// A kernel before 4.17 maps the pages elsewhere, out of reach: they are not used, and not kept.
TEST_F(MapNearTest, PagesThatAnOldKernelPutElsewhereAreGivenBack) {
  const Pages code = {0x555555554000, 0x555555700000};
  space_.hint_only = true;
  space_.taken.push_back({code.begin - 100 * kMebibyte, code.begin - kMebibyte});
  EXPECT_LT(MapFor(code, 2 * kMebibyte), code.begin - 100 * kMebibyte);
  EXPECT_GT(space_.calls, 90);
}

TEST_F(MapNearTest, AnOldKernelWithoutRoomKeepsNothing) {
  const Pages code = {0x555555554000, 0x555555700000};
  space_.hint_only = true;
  space_.taken.push_back({code.begin - 2 * kReach, code.end + 2 * kReach});
  EXPECT_EQ(MapFor(code, 2 * kMebibyte), 0u);
}

// A position-dependent executable begins at 4 MiB: 131,072 calls of 24 bytes are 3 MiB, which just
// fit below it if nothing is mapped at address 0.
TEST_F(MapNearTest, ThreeMebibytesFitBelowAPositionDependentExecutable) {
  EXPECT_EQ(MapFor({0x401000, 0x900000}, 3 * kMebibyte), kMebibyte);
}

TEST_F(MapNearTest, MoreThanThatGoesAboveAndLeavesTheHeapRoomToGrow) {
  const Pages code = {0x401000, 0x900000};
  EXPECT_GT(MapFor(code, 3 * kMebibyte + 8192), code.end + 1024 * kMebibyte);
}

TEST_F(MapNearTest, NeverAtAddressZero) {
  const Pages code = {0x401000, 0x900000};
  EXPECT_GT(MapFor(code, 4 * kMebibyte), code.end);
}

// The last byte of a large module reaches less far down than the first.
TEST_F(MapNearTest, WhatIsOutOfReachOfTheLastByteOfTheCodeIsNotUsed) {
  const Pages code = {uintptr_t{1} << 40, (uintptr_t{1} << 40) + 1500 * kMebibyte};
  space_.taken.push_back({code.begin - 700 * kMebibyte, code.begin});
  const uintptr_t at = MapFor(code, kMebibyte);
  EXPECT_GT(at, code.end);
}

TEST_F(MapNearTest, NothingReachesBothEndsOfAModuleOf2GiB) {
  EXPECT_EQ(MapFor({uintptr_t{1} << 40, (uintptr_t{1} << 40) + kReach}, 4096), 0u);
  EXPECT_EQ(MapFor({uintptr_t{1} << 40, (uintptr_t{1} << 40) + 4096}, kReach), 0u);
}

// Not a fake: this test's own code.
TEST(MapNear, PagesOfTheKernelCanBeWritten) {
  const uintptr_t code = reinterpret_cast<uintptr_t>(&MapFake);
  void* const pages = MapNear(code, code + 4096, 100000, kReachBytes);
  ASSERT_NE(pages, nullptr);
  static_cast<volatile char*>(pages)[99999] = 1;
  EXPECT_LT(static_cast<size_t>(
                std::abs(static_cast<intptr_t>(reinterpret_cast<uintptr_t>(pages) - code))),
            kReach);
  EXPECT_EQ(munmap(pages, 100000), 0);
}

}  // namespace
}  // namespace allomon::internal
