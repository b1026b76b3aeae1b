// The constant range of young addresses: its edges, mappings in its way, processes without further
// addresses.
#include "runtime/internal/space/young_range.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include "runtime/heap.h"

namespace allomon::gc {
namespace {

using internal::IsYoung;
using internal::kSliceBytes;
using internal::kYoungBytes;
using internal::kYoungStart;
using internal::LiesApart;
using internal::ReturnYoungSlice;
using internal::TakeYoungSlice;

struct Cell {
  long head;
  Field<Cell> tail;
};

char* At(uintptr_t address) { return reinterpret_cast<char*>(address); }

// Maps memory as a host might, for any purpose.
void MapElsewhere(char* start, size_t size_bytes) {
  if (mmap(start, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != start) {
    abort();
  }
}
void FillRange() { MapElsewhere(At(kYoungStart), kYoungBytes); }

void LimitAddressSpace(size_t more_bytes) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit_bytes = pages * 4096 + more_bytes;
  const rlimit limit = {limit_bytes, limit_bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) abort();
}

// Runs the function in a process of its own, and expects that exit status and text.
template <typename Function>
void ExpectInAnotherProcess(Function function, const char* text) {
  EXPECT_EXIT((function(), _exit(0)), ::testing::ExitedWithCode(0), text);
}

// Prints the message if it is one line.
void PrintStatusOfCreate(HeapOptions options, absl::StatusCode code) {
  const absl::Status status = Heap::Create(options).status();
  if (status.code() != code || status.message().find('\n') != std::string_view::npos) abort();
  fprintf(stderr, "%s\n", status.ToString().c_str());
}

TEST(YoungRangeTest, EdgesAreExact) {
  EXPECT_FALSE(IsYoung(At(kYoungStart - 1)));
  EXPECT_TRUE(IsYoung(At(kYoungStart)));
  EXPECT_TRUE(IsYoung(At(kYoungStart + kYoungBytes - 1)));
  EXPECT_FALSE(IsYoung(At(kYoungStart + kYoungBytes)));
  EXPECT_FALSE(IsYoung(nullptr));
}

// checks inv.old.apart
TEST(YoungRangeTest, BlockThatTouchesTheRangeIsNotApart) {
  EXPECT_TRUE(LiesApart(At(kYoungStart - 64), 64));
  EXPECT_FALSE(LiesApart(At(kYoungStart - 64), 65));
  EXPECT_FALSE(LiesApart(At(kYoungStart + kYoungBytes - 1), 64));
  EXPECT_TRUE(LiesApart(At(kYoungStart + kYoungBytes), 64));
  EXPECT_FALSE(LiesApart(At(kYoungStart - 64), kYoungBytes + 128));
}

TEST(YoungRangeTest, PlaceOfAThreadThatEndedIsTakenAgain) {
  char* const first = TakeYoungSlice(4 * kSliceBytes);
  ASSERT_TRUE(IsYoung(first));
  *first = 1;
  ReturnYoungSlice(first, 4 * kSliceBytes);
  char* const second = TakeYoungSlice(4 * kSliceBytes);
  EXPECT_EQ(second, first);
  EXPECT_EQ(*second, 0);
  ReturnYoungSlice(second, 4 * kSliceBytes);
}

TEST(YoungRangeDeathTest, LastHoleIsFoundWhereverItIs) {
  ExpectInAnotherProcess(
      [] {
        FillRange();
        char* const hole = At(kYoungStart) + 12345 * kSliceBytes;
        munmap(hole, 3 * kSliceBytes);
        if (TakeYoungSlice(4 * kSliceBytes) != nullptr || errno != EEXIST) abort();
        if (TakeYoungSlice(3 * kSliceBytes) != hole) abort();
        if (TakeYoungSlice(kSliceBytes) != nullptr || errno != EEXIST) abort();
      },
      "");
}

// Two copies of the runtime, in two libraries, obstruct each other like that.
TEST(YoungRangeDeathTest, HeapLivesBetweenMappingsOfOthers) {
  ExpectInAnotherProcess(
      [] {
        HeapOptions options;
        options.nursery_bytes = 4 * kSliceBytes;
        options.verify = true;
        for (size_t i = 0; i < 64; i += 8) {
          MapElsewhere(At(kYoungStart) + i * kSliceBytes, kSliceBytes);
        }
        const auto heap = Heap::Create(options).value();
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) {
          threads.emplace_back([&heap] {
            const Mutator mutator(*heap);
            Local<Cell> list;
            for (long n = 0; n < 50000; ++n) list = make<Cell>(n, n % 1000 == 0 ? nullptr : list);
            if (list->head != 49999 || list->tail->head != 49998) abort();
          });
        }
        for (std::thread& thread : threads) thread.join();
      },
      "");
}

TEST(YoungRangeDeathTest, RangeThatIsTakenIsAnErrorOfCreate) {
  ExpectInAnotherProcess(
      [] {
        FillRange();
        PrintStatusOfCreate({}, absl::StatusCode::kFailedPrecondition);
      },
      "a nursery of 2048 KiB must lie at 0x.*: other mappings fill these addresses; "
      "what is there, /proc/self/maps tells");
}

TEST(YoungRangeDeathTest, TooSmallALimitOfAddressesIsAnErrorOfCreate) {
  ExpectInAnotherProcess(
      [] {
        LimitAddressSpace(size_t{256} << 20);
        HeapOptions options;
        options.nursery_bytes = size_t{1} << 30;
        PrintStatusOfCreate(options, absl::StatusCode::kResourceExhausted);
      },
      "no address space for a nursery of 1048576 KiB: raise the limit \\(ulimit -v\\)");
}

// Stress mode divides a nursery into two halves.
TEST(YoungRangeDeathTest, LimitOfAddressesThatLeavesOneHalf) {
  ExpectInAnotherProcess(
      [] {
        LimitAddressSpace(size_t{768} << 20);
        HeapOptions options;
        options.nursery_bytes = size_t{512} << 20;
        if (!Heap::Create(options).ok()) abort();
        options.stress_every = 1;
        PrintStatusOfCreate(options, absl::StatusCode::kResourceExhausted);
      },
      "no address space for a nursery of 1048576 KiB");
}

// A reservation of the whole range would exceed this limit of 64 MiB.
TEST(YoungRangeDeathTest, LimitOfAddressesLeavesTheHostWhatNurseriesDoNotTake) {
  ExpectInAnotherProcess(
      [] {
        LimitAddressSpace(size_t{64} << 20);
        if (!Heap::Create().ok()) abort();
        void* const block =
            mmap(nullptr, size_t{48} << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) abort();
      },
      "");
}

}  // namespace
}  // namespace allomon::gc
