// Every entry point meets the end of memory: in a process of little address space, and under a
// kernel that gives no more mappings.  malloc is replaced, and every block is sampled.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/in_child.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

constexpr size_t kMebi = size_t{1} << 20;

struct Following {
  std::optional<char> alloc_major(const Allocation&) { return 0; }
  void dealloc_major(char) {}
};

// A limit stays for the rest of a process, so each test has a process of its own.
template <typename Body>
void InChild(Body body) {
  testing::InChild([&body] {
    alarm(60);
    body();
  });
}

size_t AddressSpaceBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

void LimitAddressSpace(size_t more_bytes) {
  const rlim_t limit = AddressSpaceBytes() + more_bytes;
  const rlimit limits = {limit, limit};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limits), 0);
}

// The blocks are linked through their first words, so keeping them takes no memory.
struct Blocks {
  void* first = nullptr;
  int count = 0;

  bool Keep(void* block) {
    if (block == nullptr) return false;
    *static_cast<void**>(block) = first;
    first = block;
    ++count;
    return true;
  }
  void FreeAll() {
    while (first != nullptr) {
      void* block = first;
      first = *static_cast<void**>(block);
      free(block);
    }
  }
};

// Memory ends at the n-th call.  The test can take at least 100 blocks of a MiB before the end, and
// after it the memory is available again.
template <typename Allocate>
void ExpectEnd(const char* name, int expected_errno, Allocate allocate) {
  Blocks blocks;
  errno = 0;
  while (blocks.Keep(allocate())) errno = 0;
  const int error = errno;
  blocks.FreeAll();
  EXPECT_EQ(error, expected_errno) << name;
  EXPECT_GE(blocks.count, 100) << name;
}

TEST(MemoryEndTest, EveryEntryPointSaysSoAsItShould) {
  InChild([] {
    ASSERT_TRUE(Tracker::start(1, Following{}).ok());
    free(malloc(kMebi));
    LimitAddressSpace(300 * kMebi);
    ExpectEnd("malloc", ENOMEM, [] { return malloc(kMebi); });
    ExpectEnd("calloc", ENOMEM, [] { return calloc(1024, 1024); });
    ExpectEnd("realloc", ENOMEM, [] { return realloc(nullptr, kMebi); });
    ExpectEnd("reallocarray", ENOMEM, [] { return reallocarray(nullptr, 1024, 1024); });
    ExpectEnd("aligned_alloc", ENOMEM, [] { return aligned_alloc(64, kMebi); });
    ExpectEnd("memalign", ENOMEM, [] { return memalign(4096, kMebi); });
    ExpectEnd("valloc", ENOMEM, [] { return valloc(kMebi); });
    ExpectEnd("pvalloc", ENOMEM, [] { return pvalloc(kMebi); });
    ExpectEnd("new nothrow", ENOMEM, [] { return operator new(kMebi, std::nothrow); });
    // POSIX lets posix_memalign return the error and does not mention errno, so errno stays.
    ExpectEnd("posix_memalign", 0, []() -> void* {
      void* block = nullptr;
      const int error = posix_memalign(&block, 64, kMebi);
      EXPECT_EQ(error, block == nullptr ? ENOMEM : 0);
      return block;
    });
    ExpectEnd("new", ENOMEM, []() -> void* {
      try {
        return operator new(kMebi);
      } catch (const std::bad_alloc&) {
        return nullptr;
      }
    });
  });
}

TEST(MemoryEndTest, ReallocThatFailsKeepsTheOldBlock) {
  InChild([] {
    ASSERT_TRUE(Tracker::start(1, Following{}).ok());
    char* block = static_cast<char*>(malloc(kMebi));
    memset(block, 7, kMebi);
    LimitAddressSpace(100 * kMebi);
    errno = 0;
    EXPECT_EQ(realloc(block, 500 * kMebi), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(block[kMebi - 1], 7);
    free(block);
  });
}

Blocks* g_reserve = nullptr;
void GiveReserve() {
  g_reserve->FreeAll();
  std::set_new_handler(nullptr);
}

TEST(MemoryEndTest, NewHandlerThatFreesMemoryIsEnough) {
  InChild([] {
    ASSERT_TRUE(Tracker::start(1, Following{}).ok());
    LimitAddressSpace(300 * kMebi);
    Blocks blocks;
    g_reserve = &blocks;
    while (blocks.Keep(malloc(kMebi))) {
    }
    std::set_new_handler(GiveReserve);
    EXPECT_NE(operator new(20 * kMebi), nullptr);
    EXPECT_EQ(std::get_new_handler(), nullptr) << "it was called";
  });
}

// Samples for which there is no room are dropped.  The program keeps the remaining memory.
// mimalloc 3 has reserved a GiB of addresses by then, so that nothing can be mapped, and no sample
// finds room.
TEST(MemoryEndTest, LimitOf512MebibytesIsTheProgramsNotTheTrackers) {
  InChild([] {
    const rlimit limits = {512 * kMebi, 512 * kMebi};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &limits), 0);
    const bool has_room = AddressSpaceBytes() < 512 * kMebi;
    const auto id = Tracker::start(1, Following{});
    ASSERT_TRUE(id.ok());
    Blocks small;
    for (int i = 0; i < 1000000; ++i) ASSERT_TRUE(small.Keep(malloc(64)));
    Blocks large;
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(large.Keep(malloc(kMebi)));
    EXPECT_GT(Tracker::statistics(*id)->dropped_blocks, 0u);
    if (has_room) {
      EXPECT_GT(Tracker::statistics(*id)->reported_blocks, 100000u);
    }
    small.FreeAll();
    large.FreeAll();
  });
}

size_t MaxMappings() {
  size_t count = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> count;
  return count;
}

// Neighbouring pages of different protection are separate mappings.
void UseUpMappings() {
  const size_t count = MaxMappings() + 1000;
  char* pages = static_cast<char*>(
      mmap(nullptr, count * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  size_t i = 0;
  while (i < count && mprotect(pages + i * 4096, 4096, PROT_READ) == 0) i += 2;
  ASSERT_LT(i, count) << "the kernel has refused";
}

TEST(MemoryEndTest, WithoutMappingsLeftSamplesAreDroppedAndFreesGoOn) {
  ASSERT_LE(MaxMappings(), size_t{4} << 20) << "would take too long to use up";
  InChild([] {
    const auto id = Tracker::start(1, Following{});
    ASSERT_TRUE(id.ok());
    Blocks blocks;
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(blocks.Keep(malloc(100)));
    UseUpMappings();
    // The sizes exceed the memory mapped so far, so the backend may refuse the blocks, but must not
    // do anything worse.
    for (int i = 0; i < 200; ++i) blocks.Keep(malloc(200000));
    blocks.FreeAll();
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(blocks.Keep(malloc(100)));
    blocks.FreeAll();
  });
}

}  // namespace
}  // namespace allomon
