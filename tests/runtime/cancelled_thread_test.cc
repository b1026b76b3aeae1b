// A cancelled thread makes a heap, writes its snapshot and destroys it: the thread does not end
// inside these calls.
#include <pthread.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
#include "tests/runtime/lists.h"

namespace allomon::gc {
namespace {

std::string Path(const char* name) { return std::string(getenv("TEST_TMPDIR")) + "/" + name; }

struct Progress {
  bool has_marked = false;
  bool has_snapshot = false;
  bool has_sites = false;
  bool is_done = false;
};

void UseHeap(Progress* progress) {
  const auto heap = Heap::Create(InBackground()).value();
  const Mutator mutator(*heap);
  const Root<Cell> list = MakeList(20000);
  internal::CollectForGrowth(heap->core(), internal::CurrentMutator());
  progress->has_marked = heap->core().cycle.is_active();
  progress->has_snapshot = heap->WriteSnapshot(Path("cancelled.heapsnapshot")).ok();
  progress->has_sites =
      SaveSites(Path("cancelled.sites")).ok() && LoadSites(Path("cancelled.sites")).ok();
}

void* UseHeapWhileCancelled(void* progress) {
  pthread_cancel(pthread_self());
  UseHeap(static_cast<Progress*>(progress));
  static_cast<Progress*>(progress)->is_done = true;
  pthread_testcancel();
  return nullptr;
}

TEST(CancelledThreadTest, SavesAndEndsItsHeap) {
  Progress progress;
  pthread_t thread;
  void* result = nullptr;
  ASSERT_EQ(pthread_create(&thread, nullptr, UseHeapWhileCancelled, &progress), 0);
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_TRUE(progress.has_marked);
  EXPECT_TRUE(progress.has_snapshot);
  EXPECT_TRUE(progress.has_sites);
  EXPECT_TRUE(progress.is_done);
  for (const char* name : {"cancelled.heapsnapshot", "cancelled.sites"}) {
    EXPECT_EQ(access(Path(name).c_str(), R_OK), 0) << name;
  }
}

}  // namespace
}  // namespace allomon::gc
