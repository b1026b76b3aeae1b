// A tracker that counts its callbacks for managed blocks, and a heap with a small nursery.
#ifndef ALLOMON_TESTS_RUNTIME_SAMPLING_CASE_H_
#define ALLOMON_TESTS_RUNTIME_SAMPLING_CASE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tracker/tracker.h"

namespace allomon::gc {

struct Cell {
  long head;
  Field<Cell> tail;
};

// Counts of callbacks and samples, by kind.  Every sample is in exactly one state.
struct Counts {
  std::atomic<uint64_t> alloc_minor{0}, alloc_major{0}, promote{0}, dealloc_minor{0},
      dealloc_major{0};
  std::atomic<uint64_t> samples{0}, sizes_wrong{0};
  std::atomic<uint64_t> custom_samples{0}, custom_blocks{0};
  uint64_t wanted_words = 0;  // 0: any size
};

class CountingTracker {
 public:
  explicit CountingTracker(Counts* counts) : counts_(counts) {}
  std::optional<int> alloc_minor(const Allocation& a) {
    ++counts_->alloc_minor;
    Add(a);
    return 42;
  }
  std::optional<int> alloc_major(const Allocation& a) {
    ++counts_->alloc_major;
    Add(a);
    return 43;
  }
  std::optional<int> promote(int value) {
    EXPECT_EQ(value, 42);
    ++counts_->promote;
    return 17;
  }
  void dealloc_minor(int value) {
    EXPECT_EQ(value, 42);
    ++counts_->dealloc_minor;
  }
  void dealloc_major(int value) {
    EXPECT_TRUE(value == 17 || value == 43);
    ++counts_->dealloc_major;
  }

 private:
  void Add(const Allocation& a) {
    if (a.source == AllocationSource::kCustom) {
      counts_->custom_samples += a.n_samples;
      ++counts_->custom_blocks;
      return;
    }
    EXPECT_EQ(a.source, AllocationSource::kNormal);
    counts_->samples += a.n_samples;
    if (counts_->wanted_words != 0 && a.size_words != counts_->wanted_words) ++counts_->sizes_wrong;
  }
  Counts* counts_;
};

inline StartOptions Seeded(uint64_t seed) {
  StartOptions options;
  options.seed = seed;
  options.callstack_size = 0;
  return options;
}

class SampledHeapTest : public ::testing::Test {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.growth_floor_bytes = 1 << 20;
    return options;
  }
  void TearDown() override { Tracker::stop().IgnoreError(); }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
};

class SamplingTest : public SampledHeapTest {
 protected:
  Counts counts_;
};

inline Local<Cell> MakeList(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
  return list;
}

}  // namespace allomon::gc

#endif  // ALLOMON_TESTS_RUNTIME_SAMPLING_CASE_H_
