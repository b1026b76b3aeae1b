// A tracker whose callbacks do everything that callbacks may: allocate, collect and throw.
//
// Thread safe.
#ifndef ALLOMON_TESTS_RUNTIME_WILD_TRACKER_H_
#define ALLOMON_TESTS_RUNTIME_WILD_TRACKER_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tracker/tracker.h"

namespace allomon::gc::testing {

struct Interrupted {};

// Callbacks that allocate, collect, throw, and check their arguments.
class WildTracker {
 public:
  struct Value {
    uint64_t samples;
    bool young;
  };
  WildTracker(Heap* heap, uint64_t id) : heap_(heap), id_(id) {}

  std::optional<Value> alloc_minor(const Allocation& a) { return Alloc(a, true); }
  std::optional<Value> alloc_major(const Allocation& a) { return Alloc(a, false); }
  std::optional<Value> promote(Value value) {
    EXPECT_TRUE(value.young);
    Misbehave(value.samples);
    return Value{value.samples, false};
  }
  void dealloc_minor(Value value) {
    EXPECT_TRUE(value.young);
    Misbehave(value.samples);
  }
  void dealloc_major(Value value) { EXPECT_FALSE(value.young); }

 private:
  std::optional<Value> Alloc(const Allocation& a, bool young) {
    EXPECT_GE(a.n_samples, 1u);
    EXPECT_LE(a.n_samples, a.size_words + 1);
    Misbehave(a.size_bytes);
    return Value{a.n_samples, young};
  }
  // Callbacks of several threads run at once.
  void Misbehave(uint64_t what) {
    const uint64_t turn = turns_.fetch_add(1, std::memory_order_relaxed) + id_;
    if (turn % 5 == 0) make_bytes(what % 100);
    if (turn % 301 == 0) heap_->Collect(CollectionKind::kMinor);
    if (turn % 1999 == 0) heap_->Collect(CollectionKind::kMajor);
    if (turn % 97 == 0) throw Interrupted();
  }

  static inline std::atomic<uint64_t> turns_{0};
  Heap* heap_;
  uint64_t id_;
};

}  // namespace allomon::gc::testing

#endif  // ALLOMON_TESTS_RUNTIME_WILD_TRACKER_H_
