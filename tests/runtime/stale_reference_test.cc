// A block that the runtime itself takes from malloc may run a tracker's callback, which may
// collect.  The runtime must then hold no reference that a collection would not update.
#include <atomic>
#include <functional>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

// Collects at each sampled block of malloc, and makes other objects at the young ones' addresses.
class Collecting {
 public:
  Collecting(Heap* heap, int* collections) : heap_(heap), collections_(collections) {}
  std::optional<int> alloc_major(const Allocation& allocation) {
    if (allocation.source != AllocationSource::kMalloc) return std::nullopt;
    heap_->Collect(CollectionKind::kMinor);
    for (int i = 0; i < 100; ++i) make<Cell>(-1, nullptr);
    ++*collections_;
    return std::nullopt;
  }

 private:
  Heap* const heap_;
  int* const collections_;
};

class StaleReferenceTest : public ::testing::Test {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.verify = true;
    return options;
  }
  // Runs `use` while each block of malloc may trigger a collection.  `use` must take at least one
  // block.
  template <typename Use>
  void WhileMallocCollects(Use use) {
    int collections = 0;
    ASSERT_TRUE(Tracker::start(1, Collecting(heap_.get(), &collections)).ok());
    use();
    ASSERT_TRUE(Tracker::stop().ok());
    EXPECT_GT(collections, 0);
  }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
};

TEST_F(StaleReferenceTest, GlobalIsMadeOfAYoungObject) {
  long head = 0;
  WhileMallocCollects([&] {
    const Global<Cell> global(make<Cell>(7, nullptr));
    head = global.get()->head;
  });
  EXPECT_EQ(head, 7);
}

TEST_F(StaleReferenceTest, GlobalIsAssignedAYoungObject) {
  long head = 0;
  WhileMallocCollects([&] {
    Global<Cell> global;
    global = make<Cell>(8, nullptr);
    head = global.get()->head;
  });
  EXPECT_EQ(head, 8);
}

// The closure is a block of malloc.
TEST_F(StaleReferenceTest, FinalizerIsAddedToAYoungObject) {
  long head = 0;
  const auto finalizer = [&head, more = 1L](Handle<Cell> cell) { head = cell->head * more; };
  WhileMallocCollects([&] {
    const Local<Cell> cell = make<Cell>(9, nullptr);
    add_finalizer<Cell>(cell, finalizer);
  });
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(head, 9);
}

}  // namespace
}  // namespace allomon::gc
