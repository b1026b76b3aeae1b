// Every class of error ends the program by the right signal.  Its report names the access, the
// place of the access, the block's allocation, its free and the tracker's note.
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>

#include "tests/guard/child.h"
#include "tests/guard/misuse.h"

namespace allomon::testing {
namespace {

std::string ThreadOf(const std::string& said, const std::string& before) {
  const size_t at = said.find(before);
  if (at == std::string::npos) return "";
  return said.substr(at + before.size(), said.find_first_of("\n", at) - at - before.size());
}

TEST(GuardErrors, UseAfterFreeNamesAllTheFunctionsAndTheNote) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    char* block = misuse::TakeByNewArray(64);
    misuse::FreeByDeleteArray(block);
    misuse::Write(block + 16);
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  ExpectHas(end.said, "allomon: heap-use-after-free: write to 0x");
  ExpectHas(end.said, ", byte 16 of a block of 64 bytes, by thread ");
  ExpectHas(end.said, "#0 misuse::Write  /");
  ExpectHas(end.said, "  allocated by operator new[] in thread ");
  ExpectHas(end.said, "#0 misuse::TakeByNewArray  /");
  ExpectHas(end.said, "  freed by operator delete[] in thread ");
  ExpectHas(end.said, "#0 misuse::FreeByDeleteArray  /");
  ExpectHas(end.said, "  note: kept by a test, size 64\n");
}

TEST(GuardErrors, ReadIsToldFromWrite) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    char* block = misuse::TakeByNewArray(64);
    misuse::FreeByDeleteArray(block);
    misuse::Read(block);
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  ExpectHas(end.said, "heap-use-after-free: read of 0x");
  ExpectHas(end.said, "#0 misuse::Read  /");
}

TEST(GuardErrors, UseAfterFreeByAnotherThreadNamesBothThreads) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    char* block = misuse::TakeByNewArray(64);
    std::thread([&] { misuse::FreeByDeleteArray(block); }).join();
    std::thread([&] { misuse::Write(block); }).join();
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  const std::string user = ThreadOf(end.said, "bytes, by thread ");
  const std::string allocator = ThreadOf(end.said, "allocated by operator new[] in thread ");
  const std::string freer = ThreadOf(end.said, "freed by operator delete[] in thread ");
  EXPECT_FALSE(user.empty() || allocator.empty() || freer.empty()) << end.said;
  EXPECT_TRUE(user != allocator && user != freer && allocator != freer) << end.said;
}

TEST(GuardErrors, OneByteBeyondABlockAtThePagesEndFaults) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    misuse::Write(TakeAtPageEnd(64) + 64);
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  ExpectHas(end.said, "heap-buffer-overflow: write to 0x");
  ExpectHas(end.said, ", byte 64 of a block of 64 bytes");
  ExpectHas(end.said, "#0 misuse::Write  /");
  ExpectHas(end.said, "#0 misuse::TakeByNewArray  /");
  ExpectHas(end.said, "note: kept by a test, size 64");
  ExpectLacks(end.said, "freed by");
}

TEST(GuardErrors, OneByteBeforeABlockAtThePagesStartFaults) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    misuse::Read(TakeAtPageStart(64) - 1);
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  ExpectHas(end.said, "heap-buffer-underflow: read of 0x");
  ExpectHas(end.said, ", 1 byte before a block of 64 bytes");
}

// A block of 61 bytes is aligned to 8, which leaves three bytes between its end and the page's end.
TEST(GuardErrors, OneByteIntoTheGapOfTheAlignmentIsFoundAtFree) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    char* block = TakeAtPageEnd(61);
    misuse::Write(block + 61);
    misuse::FreeByDeleteArray(block);
  });
  EXPECT_EQ(end.signal, SIGABRT);
  ExpectHas(end.said,
            "heap-buffer-overflow: found at operator delete[]: overwritten with 0x1 at 0x");
  ExpectHas(end.said, ", byte 61 of a block of 61 bytes");
  ExpectHas(end.said, "#0 misuse::FreeByDeleteArray  /");
  ExpectHas(end.said, "#0 misuse::TakeByNewArray  /");
  ExpectHas(end.said, "note: kept by a test, size 61");
}

TEST(GuardErrors, OneByteOnTheOpenSideIsFoundAtFree) {
  const ChildEnd before = RunChild([] {
    GuardEverything();
    char* block = TakeAtPageEnd(64);
    misuse::Write(block - 1);
    misuse::FreeByDeleteArray(block);
  });
  EXPECT_EQ(before.signal, SIGABRT);
  ExpectHas(before.said, "heap-buffer-underflow: found at operator delete[]");
  ExpectHas(before.said, ", 1 byte before a block of 64 bytes");
  const ChildEnd behind = RunChild([] {
    GuardEverything();
    char* block = TakeAtPageStart(64);
    misuse::Write(block + kPageBytes - 1);
    misuse::FreeByDeleteArray(block);
  });
  EXPECT_EQ(behind.signal, SIGABRT);
  ExpectHas(behind.said, ", byte 4095 of a block of 64 bytes");
}

TEST(GuardErrors, DoubleFreeNamesBothFrees) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    char* block = misuse::TakeByNewArray(64);
    misuse::FreeByDeleteArray(block);
    misuse::FreeByFree(block);
  });
  EXPECT_EQ(end.signal, SIGABRT);
  ExpectHas(end.said, "allomon: double-free: free at 0x");
  ExpectHas(end.said, "#0 misuse::FreeByFree  /");
  ExpectHas(end.said, "#0 misuse::TakeByNewArray  /");
  ExpectHas(end.said, "freed by operator delete[] in thread ");
  ExpectHas(end.said, "#0 misuse::FreeByDeleteArray  /");
  ExpectHas(end.said, "note: kept by a test, size 64");
}

sem_t freeing;
sem_t never;

// A tracker whose dealloc callback waits.  Meanwhile its block is neither live nor in quarantine.
struct WaitingTracker {
  std::optional<int> alloc_major(const Allocation& allocation) {
    if (allocation.size_bytes != 77) return std::nullopt;
    return 0;
  }
  void dealloc_major(int) {
    sem_post(&freeing);
    sem_wait(&never);
  }
};

TEST(GuardErrors, SecondFreeWhileTheFirstIsInItsCallbackIsADoubleFree) {
  const ChildEnd end = RunChild([] {
    sem_init(&freeing, 0, 0);
    sem_init(&never, 0, 0);
    GuardEverything();
    StartOptions concurrent;
    concurrent.concurrent = true;
    EXPECT_TRUE(Tracker::start(1, WaitingTracker{}, concurrent).ok());
    char* block = misuse::TakeByNewArray(77);
    std::thread first([&] { misuse::FreeByDeleteArray(block); });
    sem_wait(&freeing);
    misuse::FreeByFree(block);
  });
  EXPECT_EQ(end.signal, SIGABRT);
  ExpectHas(end.said, "allomon: double-free: free at 0x");
  ExpectHas(end.said, "freed by operator delete[] in thread ");
  EXPECT_NE(ThreadOf(end.said, "bytes, by thread "),
            ThreadOf(end.said, "freed by operator delete[] in thread "));
}

TEST(GuardErrors, PointerIntoABlockIsNotFreed) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    misuse::FreeByFree(misuse::TakeByNewArray(64) + 8);
  });
  EXPECT_EQ(end.signal, SIGABRT);
  ExpectHas(end.said, "allomon: invalid-free: free at 0x");
  ExpectHas(end.said, ", byte 8 of a block of 64 bytes");
  ExpectHas(end.said, "#0 misuse::TakeByNewArray  /");
}

TEST(GuardErrors, ReallocOfAFreedBlockIsADoubleFree) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    void* block = misuse::TakeByMalloc(64);
    misuse::FreeByFree(block);
    if (realloc(block, 100) == nullptr) _exit(97);
  });
  EXPECT_EQ(end.signal, SIGABRT);
  ExpectHas(end.said, "allomon: double-free: ");
  ExpectHas(end.said, "#0 misuse::FreeByFree  /");
}

void ExpectMismatch(void (*misuse)(), const std::string& what) {
  const ChildEnd end = RunChild([&] {
    GuardEverything();
    misuse();
  });
  EXPECT_EQ(end.signal, SIGABRT) << what;
  ExpectHas(end.said, "allomon: mismatched-free: " + what + " at 0x");
}

TEST(GuardErrors, EveryMismatchedPairWithAnArrayIsReported) {
  ExpectMismatch([] { ::operator delete[](malloc(64)); },
                 "operator delete[] of a block from malloc");
  ExpectMismatch([] { free(::operator new[](64)); }, "free of a block from operator new[]");
  ExpectMismatch([] { ::operator delete[](::operator new(64)); },
                 "operator delete[] of a block from operator new");
  ExpectMismatch([] { ::operator delete(::operator new[](64)); },
                 "operator delete of a block from operator new[]");
  ExpectMismatch([] { ::operator delete(::operator new[](64, std::nothrow)); },
                 "operator delete of a block from operator new[]");
}

// A C++ runtime that is linked into a library calls malloc and free (Debian's rustc).
TEST(GuardErrors, BlocksCrossTheBorderOfALibraryWithARuntimeOfItsOwn) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    free(::operator new(64));
    ::operator delete(malloc(64));
    ::operator delete (malloc(64), size_t{64});
    constexpr std::align_val_t kAligned{64};
    free(::operator new(64, kAligned));
    ::operator delete(aligned_alloc(64, 64), kAligned);
  });
  EXPECT_EQ(end.signal, 0) << end.said;
}

TEST(GuardErrors, SizedDeleteOfAnotherSizeIsReported) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    ::operator delete (::operator new(64), size_t{48});
  });
  EXPECT_EQ(end.signal, SIGABRT);
  ExpectHas(end.said, "allomon: wrong-size-delete: operator delete of 48 bytes at 0x");
  ExpectHas(end.said, " of a block of 64 bytes");
}

TEST(GuardErrors, MatchedPairsAreNotReported) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    constexpr std::align_val_t kAligned{64};
    free(malloc(64));
    free(calloc(8, 8));
    free(aligned_alloc(64, 64));
    free(realloc(malloc(10), 64));
    ::operator delete(::operator new(64));
    ::operator delete (::operator new(64), size_t{64});
    ::operator delete[](::operator new[](64), size_t{64});
    ::operator delete[](::operator new[](64, std::nothrow), std::nothrow);
    ::operator delete (::operator new(64, kAligned), size_t{64}, kAligned);
    ::operator delete[](::operator new[](64, kAligned, std::nothrow), kAligned, std::nothrow);
  });
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.said, "");
}

// A guard that continues after errors is for programs that are known to mix families.  It reports
// every error found by a free, and the program continues.
TEST(GuardErrors, GoesOnAfterWhatFreeFindsIfToldSo) {
  const ChildEnd end = RunChild([] {
    GuardEverything(/*goes_on=*/true);
    char* block = TakeAtPageEnd(61);
    misuse::Write(block + 61);
    misuse::FreeByFree(block);
    misuse::FreeByFree(block);
    misuse::FreeByFree(misuse::TakeByNewArray(64) + 8);
    EXPECT_EQ(ReadGuardStatistics().errors, 4u);
  });
  EXPECT_EQ(end.status, 0);
  ExpectHas(end.said, "allomon: mismatched-free: ");
  ExpectHas(end.said, "allomon: heap-buffer-overflow: found at free");
  ExpectHas(end.said, "allomon: double-free: ");
  ExpectHas(end.said, "allomon: invalid-free: ");
}

TEST(GuardErrors, FaultIsFatalEvenThen) {
  const ChildEnd end = RunChild([] {
    GuardEverything(/*goes_on=*/true);
    char* block = misuse::TakeByNewArray(64);
    misuse::FreeByDeleteArray(block);
    misuse::Write(block);
  });
  EXPECT_EQ(end.signal, SIGSEGV);
}

}  // namespace
}  // namespace allomon::testing
