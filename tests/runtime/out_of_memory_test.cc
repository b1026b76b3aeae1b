// The backend refuses the n-th block, for every n: nothing breaks, wherever that hits, and
// the heap goes on when there is memory again.
//
// Built over tests/backends/failing; run as //tests/backends:runtime_out_of_memory_test.
#include <new>
#include <string>
#include <vector>

#include "allomon_backend.h"
#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/marshal.h"
#include "runtime/weak.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

using backend::Failing;

struct Cell {
  long head;
  Field<Cell> tail;
};

struct Counts {
  uint64_t born = 0, died = 0;
};
class CountingTracker {
 public:
  explicit CountingTracker(Counts* counts) : counts_(counts) {}
  std::optional<int> alloc_minor(const Allocation&) { return ++counts_->born, 1; }
  std::optional<int> alloc_major(const Allocation&) { return ++counts_->born, 1; }
  std::optional<int> promote(int) { return 1; }
  void dealloc_minor(int) { ++counts_->died; }
  void dealloc_major(int) { ++counts_->died; }

 private:
  Counts* counts_;
};

HeapOptions Options() {
  HeapOptions options;
  options.nursery_bytes = 256 << 10;
  options.growth_floor_bytes = 512 << 10;
  return options;
}

long g_released = 0;

// Whatever takes memory from the backend: chunks, large objects, tables.
void Work(Heap& heap, Local<Cell>* list, long* length, long* blocks) {
  Local<Ephemeron<Cell, Cell>> weak;
  for (; *length < 30000; ++*length) {
    *list = make<Cell>(*length, *list);
    if (*length % 5000 != 0) continue;
    make_bytes(200000);
    weak = make_ephemeron<Cell, Cell>(*list, *list);
    make_custom(nullptr, 10, [](void*) { ++g_released; });
    ++*blocks;
    heap.Collect(CollectionKind::kMajor);
  }
  MarshalTypes types;
  types.Add<Cell>("cell");
  const auto bytes = marshal<Cell>(*list, types);
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(unmarshal<Cell>(*bytes, types).ok());
}

// Returns whether something was refused.
bool RunWithFailureAt(long n, Failing failing) {
  Counts counts;
  EXPECT_TRUE(Tracker::start(0.01, CountingTracker(&counts)).ok());
  bool refused = false;
  g_released = 0;
  long blocks = 0;
  {
    backend::g_failing = failing;
    backend::g_fail_at = n;
    const auto heap = Heap::Create(Options()).value();
    try {
      const Mutator mutator(*heap);
      Local<Cell> list;
      long length = 0;
      try {
        Work(*heap, &list, &length, &blocks);
      } catch (const std::bad_alloc&) {
        refused = true;
      }
      refused |= backend::g_fail_at == 1;
      // The memory is back, and what was made is whole.
      backend::g_fail_at = 0;
      heap->Collect(CollectionKind::kMajor);
      long seen = 0;
      for (Local<Cell> cell = list; cell; cell = cell->tail)
        seen += cell->head == length - 1 - seen;
      EXPECT_EQ(seen, length) << "failure at " << n;
      for (int i = 0; i < 100000; ++i) make<Cell>(i, nullptr);
      list = nullptr;
      heap->Collect(CollectionKind::kMajor);
      const HeapStatistics s = heap->statistics();
      EXPECT_EQ(s.old_words, 0u);
      EXPECT_EQ(s.allocated_words, s.freed_young_words + s.freed_old_words);
    } catch (const std::bad_alloc&) {
      refused = true;  // no nursery
    }
    backend::g_fail_at = 0;
  }
  EXPECT_EQ(counts.born, counts.died) << "failure at " << n;
  EXPECT_LE(g_released, blocks + 1);
  EXPECT_GE(g_released, blocks);
  EXPECT_TRUE(Tracker::stop().ok());
  return refused;
}

class OutOfMemoryTest : public ::testing::TestWithParam<Failing> {};

TEST_P(OutOfMemoryTest, AtTheNthBlockForEveryN) {
  long n = 1;
  while (RunWithFailureAt(n, GetParam())) {
    ++n;
    ASSERT_LE(n, 2000);
    if (HasFailure()) return;
  }
  // Everything was refused once: chunks, large objects, and the tables too.
  EXPECT_GT(n, GetParam() == Failing::kChunks ? 5 : 40);
  RecordProperty("blocks", std::to_string(n));
}

INSTANTIATE_TEST_SUITE_P(Kinds, OutOfMemoryTest,
                         ::testing::Values(Failing::kChunks, Failing::kAll));

}  // namespace
}  // namespace allomon::gc
