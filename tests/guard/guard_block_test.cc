// Guarded blocks behave like other blocks: their sizes, alignments, contents and notes, also when
// the pool has no room.
#include <malloc.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/guard/child.h"
#include "tests/guard/misuse.h"

namespace allomon::testing {
namespace {

void ExpectQuietSuccess(const ChildEnd& end) {
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.said, "");
}

uintptr_t AddressOf(const void* block) { return reinterpret_cast<uintptr_t>(block); }

TEST(GuardBlock, SizesAndAlignmentsAreKept) {
  ExpectQuietSuccess(RunChild([] {
    GuardEverything();
    for (size_t size = 0; size <= 4100; size += size < 70 ? 1 : 61) {
      for (int i = 0; i < 3; ++i) {
        void* block = malloc(size);
        EXPECT_EQ(AddressOf(block) % (size <= 8 ? 8 : 16), 0u) << size;
        EXPECT_GE(malloc_usable_size(block), size);
        EXPECT_TRUE(size > kPageBytes || malloc_usable_size(block) == size) << size;
        memset(block, 1, malloc_usable_size(block));
        free(block);
      }
    }
    for (size_t alignment = 8; alignment <= 65536; alignment *= 2) {
      void* block = aligned_alloc(alignment, alignment / 2);
      EXPECT_EQ(AddressOf(block) % alignment, 0u);
      memset(block, 1, alignment / 2);
      free(block);
    }
  }));
}

TEST(GuardBlock, CallocIsZeroAlsoInAPageThatWasUsed) {
  ExpectQuietSuccess(RunChild([] {
    GuardEverything();
    for (int i = 0; i < 10000; ++i) {
      unsigned char* block = static_cast<unsigned char*>(calloc(1, 500));
      for (int j = 0; j < 500; ++j) ASSERT_EQ(block[j], 0);
      memset(block, 0xff, 500);
      free(block);
    }
    EXPECT_GE(ReadGuardStatistics().guarded_blocks, 10000u);
  }));
}

TEST(GuardBlock, ReallocKeepsContentsInAndOutOfThePool) {
  ExpectQuietSuccess(RunChild([] {
    GuardEverything();
    const size_t sizes[] = {1, 100, 4096, 4097, 100000, 5000, 4000, 17, 0, 30};
    size_t kept = 0;
    char* block = nullptr;
    for (const size_t size : sizes) {
      block = static_cast<char*>(realloc(block, size));
      ASSERT_NE(block, nullptr);
      kept = kept < size ? kept : size;
      for (size_t i = 0; i < kept; ++i) ASSERT_EQ(block[i], static_cast<char>(i * 7));
      for (size_t i = 0; i < size; ++i) block[i] = static_cast<char>(i * 7);
      kept = size;
    }
    free(block);
    EXPECT_GT(ReadGuardStatistics().too_large, 0u);
  }));
}

char* volatile g_dying = nullptr;

struct ReadingAtTheEnd {
  std::optional<int> alloc_major(const Allocation&) { return 0; }
  void dealloc_major(int) {
    if (g_dying == nullptr) return;
    EXPECT_EQ(misuse::Read(g_dying), 7);
    g_dying = nullptr;
  }
};

// checks inv.guard.order
TEST(GuardBlock, DeallocCallbackMayReadTheBlock) {
  ExpectQuietSuccess(RunChild([] {
    GuardEverything();
    StartOptions options;
    options.concurrent = true;
    ASSERT_TRUE(Tracker::start(1, ReadingAtTheEnd{}, options).ok());
    char* block = misuse::TakeByNewArray(64);
    *block = 7;
    g_dying = block;
    misuse::FreeByDeleteArray(block);
    EXPECT_EQ(g_dying, nullptr);
  }));
}

TEST(GuardBlock, FullPoolIsCountedAndDoesNoHarm) {
  ExpectQuietSuccess(RunChild([] {
    GuardEverything();
    std::vector<void*> blocks;
    for (int i = 0; i < 3000; ++i) {
      blocks.push_back(malloc(40));
      memset(blocks.back(), i & 0xff, 40);
    }
    const GuardStatistics full = ReadGuardStatistics();
    EXPECT_LE(full.live_blocks, 1024u);
    EXPECT_GT(full.live_blocks, 1000u);
    EXPECT_GT(full.no_room, 1900u);
    for (int i = 0; i < 3000; ++i) {
      EXPECT_EQ(static_cast<unsigned char*>(blocks[i])[39], i & 0xff);
      free(blocks[i]);
    }
    const uint64_t before = ReadGuardStatistics().guarded_blocks;
    free(malloc(40));
    EXPECT_EQ(ReadGuardStatistics().guarded_blocks, before + 1);
  }));
}

TEST(GuardBlock, ThreadsThatFreeEachOthersBlocksLoseNone) {
  ExpectQuietSuccess(RunChild([] {
    GuardEverything();
    constexpr int kPlaces = 64;
    std::atomic<char*> places[kPlaces] = {};
    const auto exchange = [&](unsigned seed) {
      for (int i = 0; i < 5000; ++i) {
        seed = seed * 1664525 + 1013904223;
        const size_t size = 1 + (seed >> 8) % 300;
        char* fresh = static_cast<char*>(malloc(size));
        memset(fresh, 3, size);
        free(places[(seed >> 20) % kPlaces].exchange(fresh));
      }
    };
    std::thread first(exchange, 1);
    std::thread second(exchange, 2);
    first.join();
    second.join();
    for (auto& place : places) free(place.load());
    EXPECT_EQ(ReadGuardStatistics().errors, 0u);
    EXPECT_GT(ReadGuardStatistics().guarded_blocks, 9000u);
  }));
}

TEST(GuardBlock, StoppedTrackerLeavesBlocksGuarded) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    char* block = misuse::TakeByNewArray(64);
    EXPECT_TRUE(Tracker::stop().ok());
    misuse::FreeByDeleteArray(block);
    misuse::Write(block);
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  ExpectHas(end.said, "note: kept by a test, size 64\n");
}

TEST(GuardBlock, StoppedGuardLeavesBlocksGuardedAndTakesNoOthers) {
  ExpectQuietSuccess(RunChild([] {
    GuardEverything();
    void* block = malloc(64);
    StopGuard();
    const uint64_t guarded = ReadGuardStatistics().guarded_blocks;
    free(malloc(64));
    EXPECT_EQ(ReadGuardStatistics().guarded_blocks, guarded);
    EXPECT_EQ(malloc_usable_size(block), 64u);
    free(block);
    const char* error = nullptr;
    GuardOptions options;
    options.one_in = 1;
    EXPECT_TRUE(StartGuard(options, &error));
    free(malloc(64));
    EXPECT_GT(ReadGuardStatistics().guarded_blocks, guarded);
  }));
}

TEST(GuardBlock, BadOptionsSayWhy) {
  ExpectQuietSuccess(RunChild([] {
    const char* error = "";
    GuardOptions options;
    options.one_in = 0;
    EXPECT_FALSE(StartGuard(options, &error));
    EXPECT_STREQ(error, "guard: one_in must be at least 1");
    options.one_in = 1;
    for (const double rate : {-0.1, 1.1, std::nan("")}) {
      options.rate = rate;
      EXPECT_FALSE(StartGuard(options, &error));
      EXPECT_STREQ(error, "guard: the rate must be in [0, 1]");
    }
    options.rate = 0;
    EXPECT_TRUE(StartGuard(options, &error));
    EXPECT_FALSE(StartGuard(options, &error));
    EXPECT_STREQ(error, "guard: it is on already");
  }));
}

// The guard samples without any tracker in this test.
TEST(GuardBlock, GuardSamplesByItselfIfAskedTo) {
  ExpectQuietSuccess(RunChild([] {
    const char* error = "";
    GuardOptions options;
    options.one_in = 1;
    options.rate = 1;
    ASSERT_TRUE(StartGuard(options, &error));
    free(malloc(64));
    EXPECT_EQ(ReadGuardStatistics().guarded_blocks, 1u);
    StopGuard();
    free(malloc(64));
    EXPECT_EQ(ReadGuardStatistics().guarded_blocks, 1u);
  }));
}

void UseAfterFree() {
  char* block = misuse::TakeByNewArray(64);
  misuse::FreeByDeleteArray(block);
  misuse::Write(block);
}

// Reports a use after free with a second tracker in addition to the one of GuardEverything().  The
// note shows the text that the second tracker's describe() returns.
template <typename Describing>
ChildEnd ReportWith(Describing tracker) {
  return RunChild([&] {
    GuardEverything();
    StartOptions options;
    options.concurrent = true;
    EXPECT_TRUE(Tracker::start(1, std::move(tracker), options).ok());
    UseAfterFree();
  });
}

struct SaysString {
  std::string text;
  std::optional<int> alloc_major(const Allocation&) { return 0; }
  std::string_view describe(const int&) { return text; }
};

TEST(GuardNote, NotesOfTwoTrackersStandSideBySide) {
  const ChildEnd end = ReportWith(SaysString{"tenant 7"});
  const bool one = end.said.find("note: kept by a test, size 64; tenant 7\n") != std::string::npos;
  const bool other =
      end.said.find("note: tenant 7; kept by a test, size 64\n") != std::string::npos;
  EXPECT_TRUE(one || other) << end.said;
}

struct KeepsString {
  std::optional<std::string> alloc_major(const Allocation&) { return "kept in a box"; }
  const std::string& describe(const std::string& kept) { return kept; }
};

TEST(GuardNote, ValueTooLargeForItsEntryIsDescribedToo) {
  ExpectHas(ReportWith(KeepsString{}).said, "kept in a box");
}

TEST(GuardNote, LongNoteIsCut) {
  const ChildEnd end = ReportWith(SaysString{std::string(500, 'x')});
  EXPECT_EQ(end.signal, SIGSEGV);
  const size_t at = end.said.find("  note: ") + 8;
  EXPECT_EQ(end.said.find('\n', at) - at, 120u) << end.said;
}

TEST(GuardNote, NoteCannotForgeLinesOrSpeakToTheTerminal) {
  const ChildEnd end = ReportWith(SaysString{"a\nallomon: \x1b[31m"});
  ExpectHas(end.said, "a?allomon: ?[31m");
}

struct Throws {
  std::optional<int> alloc_major(const Allocation&) { return 0; }
  std::string describe(const int&) { throw std::runtime_error("no"); }
};

TEST(GuardNote, ExceptionOfDescribeCostsTheNoteAndNothingElse) {
  const ChildEnd end = ReportWith(Throws{});
  EXPECT_EQ(end.signal, SIGSEGV);
  ExpectHas(end.said, "note: kept by a test, size 64\n");
}

int g_described = 0;
int g_deallocs = 0;
struct Counts {
  std::optional<int> alloc_major(const Allocation&) { return 0; }
  void dealloc_major(int) { ++g_deallocs; }
  std::string_view describe(const int&) {
    ++g_described;
    return "";
  }
};

// A block that is not guarded is never described, since no report would show the text.
TEST(GuardNote, OnlyGuardedBlocksAreDescribed) {
  ExpectQuietSuccess(RunChild([] {
    EXPECT_TRUE(Tracker::start(1, Counts{}).ok());
    free(malloc(64));
    EXPECT_EQ(g_described, 0);
    EXPECT_EQ(g_deallocs, 1);
    GuardOptions options;
    options.one_in = 1;
    const char* error = "";
    ASSERT_TRUE(StartGuard(options, &error));
    free(malloc(64));
    EXPECT_EQ(g_described, 1);
    EXPECT_EQ(g_deallocs, 2);
    free(malloc(10000));
    EXPECT_EQ(g_described, 1);
    EXPECT_EQ(g_deallocs, 3);
  }));
}

struct EndsThread {
  bool in_describe;
  std::optional<int> alloc_major(const Allocation& allocation) {
    if (allocation.size_bytes == 77 && !in_describe) pthread_exit(nullptr);
    return static_cast<int>(allocation.size_bytes);
  }
  std::string describe(const int& size) {
    if (size == 77) pthread_exit(nullptr);
    return "";
  }
};

// The guarded slot is not lost when the thread ends before the block exists.
TEST(GuardNote, ThreadThatEndsItselfInACallbackLeavesNoBlock) {
  for (const bool in_describe : {false, true}) {
    ExpectQuietSuccess(RunChild([&] {
      EXPECT_TRUE(Tracker::start(1, EndsThread{in_describe}).ok());
      GuardOptions options;
      options.one_in = 1;
      const char* error = "";
      ASSERT_TRUE(StartGuard(options, &error));
      for (int i = 0; i < 1500; ++i) {
        pthread_t thread;
        const auto body = [](void*) -> void* { return malloc(77); };
        ASSERT_EQ(pthread_create(&thread, nullptr, body, nullptr), 0);
        ASSERT_EQ(pthread_join(thread, nullptr), 0);
      }
      EXPECT_LT(ReadGuardStatistics().live_blocks, 100u);
      EXPECT_EQ(ReadGuardStatistics().no_room, 0u);
    }));
  }
}

}  // namespace
}  // namespace allomon::testing
