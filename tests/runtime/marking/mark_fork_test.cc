// fork() while the heap's own threads mark or collect: parent and child continue, the child with
// threads of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
#include "tests/runtime/lists.h"

namespace allomon::gc {
namespace {

TEST(MarkForkTest, ForkWhileAThreadMarks) {
  const auto heap = Heap::Create(InBackground()).value();
  const Mutator mutator(*heap);
  Root<Cell> list = MakeList(100000);
  for (int i = 0; i < 10; ++i) {
    internal::CollectForGrowth(heap->core(), internal::CurrentMutator());
    const pid_t child = fork();
    if (child == 0) {
      MakeList(300000);
      heap->Collect(CollectionKind::kMajor);
      _exit(Sum(list) == 100000L * 99999 / 2 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Sum(list), 100000L * 99999 / 2);
}

long CountThreads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

// A fork waits for a collection by several threads; the child starts threads of its own.
TEST(MarkForkTest, ForkWhileSeveralThreadsCollect) {
  HeapOptions options;
  options.nursery_bytes = 256 << 10;
  options.collectors = 3;
  options.collectors_from_bytes = 0;
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  std::atomic<bool> ends{false};
  std::thread collecting([&] {
    const Mutator other(*heap);
    const Root<Cell> own = MakeList(1000);
    while (!ends) {
      MakeList(2000);
      heap->Collect(CollectionKind::kMinor);
    }
  });
  const Root<Cell> list = MakeList(100000);
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const uint64_t before = heap->statistics().parallel_collections;
      MakeList(300000);
      heap->Collect(CollectionKind::kMajor);
      const bool parallel = heap->statistics().parallel_collections > before;
      _exit(parallel && CountThreads() == 3 && Sum(list) == 100000L * 99999 / 2 ? 0 : 1);
    }
    int status = -1;
    const NativeRegion region;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ends = true;
  {
    const NativeRegion region;
    collecting.join();
  }
  EXPECT_GT(heap->statistics().parallel_collections, 0u);
  EXPECT_EQ(Sum(list), 100000L * 99999 / 2);
}

}  // namespace
}  // namespace allomon::gc
