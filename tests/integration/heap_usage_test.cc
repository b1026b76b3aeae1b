// mallinfo2 and its relatives report the memory that the program holds.
#include "allocator/heap_usage.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <pthread.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "allomon_backend.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

// If mimalloc is used through its functions only, just blocks above 16 MiB are counted.
#if defined(MI_MALLOC_VERSION) && !ALLOMON_MIMALLOC_IS_INLINED
constexpr size_t kSmallestCountedBytes = (size_t{16} << 20) + 1;
#else
constexpr size_t kSmallestCountedBytes = 0;
#endif
constexpr bool kCountsSmallBlocks = kSmallestCountedBytes == 0;

#define ALLOMON_SKIP_UNLESS_SMALL_BLOCKS_ARE_COUNTED() \
  if (!kCountsSmallBlocks) GTEST_SKIP() << "mimalloc's functions count no small blocks"

size_t UsedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Follow {
  std::optional<char> alloc_major(const Allocation&) { return 0; }
};

// Blocks of each size up to some 200 KB, and one of 40 MiB.
class Blocks {
 public:
  Blocks() { blocks_.reserve(1000); }
  ~Blocks() { Free(); }

  // The bytes that are to be counted.
  size_t Allocate() {
    size_t usable_bytes = 0;
    for (size_t size = 1; size < 200000; size = size * 9 / 8 + 7) usable_bytes += Add(size);
    return usable_bytes + Add(size_t{40} << 20);
  }
  void Free() {
    for (void* block : blocks_) free(block);
    blocks_.clear();
  }

 private:
  size_t Add(size_t size) {
    blocks_.push_back(malloc(size));
    return size < kSmallestCountedBytes ? 0 : malloc_usable_size(blocks_.back());
  }
  std::vector<void*> blocks_;
};

void CheckBlocksAreCounted() {
  Blocks blocks;
  const size_t before = UsedBytes();
  const size_t held = blocks.Allocate();
  EXPECT_EQ(UsedBytes() - before, held);
  const struct mallinfo2 info = mallinfo2();
  EXPECT_GE(info.hblks, 1u);
  EXPECT_GE(info.hblkhd, size_t{40} << 20);
  EXPECT_EQ(info.uordblks + info.fordblks, info.arena);
  blocks.Free();
  EXPECT_EQ(UsedBytes(), before);
}

TEST(HeapUsageTest, BlocksAreCountedToTheByte) { CheckBlocksAreCounted(); }

TEST(HeapUsageTest, SampledBlocksAreCountedToo) {
  ALLOMON_SKIP_UNLESS_SMALL_BLOCKS_ARE_COUNTED();
  for (const double rate : {1.0, 0.001}) {
    const auto id = Tracker::start(rate, Follow{});
    ASSERT_TRUE(id.ok());
    CheckBlocksAreCounted();
    ASSERT_TRUE(Tracker::stop().ok());
  }
}

// Waits at two barriers while it holds its blocks.
struct Holder {
  pthread_barrier_t holds;
  pthread_barrier_t seen;
  size_t held = 0;

  static void* Run(void* holder) {
    Holder& self = *static_cast<Holder*>(holder);
    Blocks blocks;
    self.held = blocks.Allocate();
    pthread_barrier_wait(&self.holds);
    pthread_barrier_wait(&self.seen);
    return nullptr;
  }
};

TEST(HeapUsageTest, BlocksOfOtherThreadsAreCounted) {
  Holder holder;
  pthread_barrier_init(&holder.holds, nullptr, 2);
  pthread_barrier_init(&holder.seen, nullptr, 2);
  const size_t before = UsedBytes();
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, Holder::Run, &holder), 0);
  pthread_barrier_wait(&holder.holds);
  const size_t during = UsedBytes();
  pthread_barrier_wait(&holder.seen);
  pthread_join(thread, nullptr);
  // The thread also has its thread-local storage and the vector of its blocks.
  EXPECT_GE(during - before, holder.held);
  EXPECT_LE(during - before, holder.held + 65536);
  EXPECT_LE(UsedBytes(), before + 65536);
}

#ifdef ALLOMON_BACKEND_READS_PAGES
using internal::HeapPages;

alignas(8) char g_room[65536];

HeapPages ReadPages() {
  const HeapPages heap = internal::ReadHeapPages(g_room, sizeof(g_room));
  EXPECT_EQ(heap.known, HeapPages::Known::kYes);
  return heap;
}

TEST(HeapUsageTest, FreeBlocksOfLivePagesAreCounted) {
  constexpr size_t kBlocks = 200000;
  constexpr size_t kPageBytes = 65536;
  std::vector<void*> blocks(kBlocks);
  const backend::PageUsage before = ReadPages().pages;
  for (void*& block : blocks) block = malloc(500);
  const size_t usable = malloc_usable_size(blocks[0]);
  EXPECT_EQ(ReadPages().pages.live_bytes - before.live_bytes, kBlocks * usable);
  for (size_t i = 0; i < kBlocks; ++i) {
    if (i % 4 != 0) free(blocks[i]);
  }
  const backend::PageUsage holes = ReadPages().pages;
  EXPECT_EQ(holes.live_bytes - before.live_bytes, kBlocks / 4 * usable);
  EXPECT_NEAR(static_cast<double>(holes.free_bytes - before.free_bytes),
              static_cast<double>(kBlocks * 3 / 4 * usable), kPageBytes);
  for (size_t i = 0; i < kBlocks; i += 4) free(blocks[i]);
  const backend::PageUsage after = ReadPages().pages;
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_LT(after.free_bytes, before.free_bytes + 2 * kPageBytes);
  EXPECT_GT(after.kept_bytes + kPageBytes, before.kept_bytes);
}

TEST(HeapUsageTest, SampledBlocksAreInTheHeapsPages) {
  const auto id = Tracker::start(1.0, Follow{});
  ASSERT_TRUE(id.ok());
  Blocks blocks;
  const HeapPages before = ReadPages();
  const size_t held = blocks.Allocate();
  const HeapPages during = ReadPages();
  EXPECT_EQ(during.pages.live_bytes - before.pages.live_bytes, held);
  blocks.Free();
  const HeapPages after = ReadPages();
  EXPECT_EQ(after.pages.live_bytes, before.pages.live_bytes);
  EXPECT_GT(after.sampled_free_bytes, during.sampled_free_bytes);
  ASSERT_TRUE(Tracker::stop().ok());
}

TEST(HeapUsageTest, PagesNeedRoomForASegmentsHeader) {
  EXPECT_EQ(internal::ReadHeapPages(g_room, 4096).known, HeapPages::Known::kUnreadable);
}
#endif

TEST(HeapUsageTest, NarrowFormHasTheLowBits) {
  const struct mallinfo2 wide = mallinfo2();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo narrow = mallinfo();
#pragma GCC diagnostic pop
  EXPECT_EQ(narrow.uordblks, static_cast<int>(wide.uordblks));
  EXPECT_EQ(narrow.arena, static_cast<int>(wide.arena));
}

TEST(HeapUsageTest, TrimGivesMemoryBackAndSaysWhether) {
  ALLOMON_SKIP_UNLESS_SMALL_BLOCKS_ARE_COUNTED();
  std::vector<void*> blocks(1000000);
  for (void*& block : blocks) block = memset(malloc(200), 1, 200);
  const size_t before = mallinfo2().arena;
  malloc_trim(0);
  EXPECT_GE(mallinfo2().arena, blocks.size() * 200) << "the blocks are still there";
  for (void* block : blocks) free(block);
  EXPECT_EQ(malloc_trim(0), 1);
  EXPECT_LT(mallinfo2().arena, before / 2);
  EXPECT_EQ(malloc_trim(0), 0) << "nothing is left";
}

TEST(HeapUsageTest, OptionsAreAcceptedUnlessTheyWouldShow) {
  EXPECT_EQ(mallopt(M_MMAP_THRESHOLD, 1 << 20), 1);
  EXPECT_EQ(mallopt(M_ARENA_MAX, 2), 1);
  EXPECT_EQ(mallopt(M_PERTURB, 0), 1);
  EXPECT_EQ(mallopt(M_PERTURB, 0x55), 0);
}

TEST(HeapUsageTest, InfoRefusesOptionsAsTheCLibraryDoes) {
  EXPECT_EQ(malloc_info(1, stdout), EINVAL);
}

// Hosts that wrap malloc look up glibc's other names; their blocks go to free().
template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Takes a block, and gives it to free().
template <typename Take>
void ExpectOurs(Take take) {
  const size_t before = UsedBytes();
  void* const block = take();
  EXPECT_GE(malloc_usable_size(block), 100u);
  // An aligned block may begin inside of the memory that it occupies.
  EXPECT_GE(UsedBytes() - before, kCountsSmallBlocks ? malloc_usable_size(block) : 0);
  free(block);
  EXPECT_EQ(UsedBytes(), before);
}

TEST(LibcNamesTest, BlocksAreOurs) {
  for (const char* name : {"__libc_malloc", "__libc_valloc", "__libc_pvalloc"}) {
    SCOPED_TRACE(name);
    ExpectOurs([name] { return Find<void*(size_t)>(name)(100); });
  }
  for (const char* name : {"__libc_calloc", "__libc_memalign"}) {
    SCOPED_TRACE(name);
    ExpectOurs([name] { return Find<void*(size_t, size_t)>(name)(64, 100); });
  }
  ExpectOurs([] { return Find<void*(void*, size_t)>("__libc_realloc")(malloc(10), 100); });
}

TEST(LibcNamesTest, FreeTakesOurBlocks) {
  const auto release = Find<void(void*)>("__libc_free");
  const size_t before = UsedBytes();
  release(malloc(100));
  EXPECT_EQ(UsedBytes(), before);
}

}  // namespace
}  // namespace allomon
