// The managed objects of model_test, the data that its threads share (exchanged objects, and the
// set of finalized nodes), and a tracker whose callbacks do everything that callbacks may.
//
// Thread safe.
#ifndef ALLOMON_TESTS_RUNTIME_MODEL_OBJECTS_H_
#define ALLOMON_TESTS_RUNTIME_MODEL_OBJECTS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/tables/site_table.h"
#include "tracker/tracker.h"

namespace allomon::gc::testing {

// Few of the objects made at these sites live long, so the heap makes the sites young;
// MakeSitesOld() makes them old again.
inline Site g_nodes("model nodes");
inline Site g_shared("model shared");
inline void MakeSitesOld() {
  internal::SiteTable::Get().Load({{"model nodes", true}, {"model shared", true}});
}

// A Shared never changes once it is published, so any thread may hold and read it.
struct Shared {
  uint64_t id;
  Field<Shared> next;  // an object of any thread
  Field<Bytes> text;
};

struct Node {
  uint64_t id;
  Field<Node> left;
  Field<Array<Node>> many;
  Field<Bytes> text;
  Field<Shared> shared;
};

// The model: the same graph in indices, never collected.
struct Shadow {
  uint64_t id;
  int left = -1;
  std::vector<int> many;
  std::string text;
  int shared = -1;
  bool has_finalizer = false;
};

// The objects that the threads exchange: a managed array of the latest ones, and the model of all
// objects that were ever published.  Both are guarded by the mutex.
class Market {
 public:
  static constexpr size_t kStalls = 16;

  // An attached thread calls Open().  An attached thread calls Close() before the heap ends.
  void Open() { stalls_ = make_array<Shared>(kStalls); }
  void Close() { stalls_.Reset(); }

  // Puts an object, whose `next` is `next`, into a stall.  Returns the index of its model.
  int Publish(size_t stall, Handle<Shared> object, int next, const std::string& text) {
    const Lock lock(mutex_);
    const int index = static_cast<int>(models_.size());
    models_.push_back({object->id, next, text});
    stalls_.get()->at(stall) = object;
    latest_[stall] = index;
    return index;
  }
  Local<Shared> Take(size_t stall, int* index) {
    const Lock lock(mutex_);
    *index = latest_[stall];
    return stalls_.get()->at(stall);
  }

  // Compares the object with the index-th model.  Follows `next` for a bounded number of steps.
  void Compare(Handle<Shared> object, int index) {
    const Lock lock(mutex_);
    Local<Shared> at = object;
    for (int steps = 0; steps < 20; ++steps, at = at->next) {
      ASSERT_EQ(static_cast<bool>(at), index >= 0);
      if (!at) return;
      const Model& model = models_[static_cast<size_t>(index)];
      ASSERT_EQ(at->id, model.id);
      ASSERT_EQ(at->text->view(), model.text);
      index = model.next;
    }
  }

 private:
  struct Model {
    uint64_t id;
    int next;
    std::string text;
  };
  // A thread that waits for the lock counts as blocked, so others can collect meanwhile.
  class Lock {
   public:
    explicit Lock(std::mutex& mutex) : mutex_(mutex) {
      const NativeRegion native;
      mutex_.lock();
    }
    ~Lock() { mutex_.unlock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::mutex& mutex_;
  };

  std::mutex mutex_;
  Global<Array<Shared>> stalls_;
  int latest_[kStalls] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  std::vector<Model> models_;
};

// The nodes whose finalizers have run, on any thread.  Ids are not reused.
class Finalized {
 public:
  void Note(uint64_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_TRUE(ids_.insert(id).second) << "finalized twice: " << id;
  }
  bool Has(uint64_t id) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ids_.count(id) != 0;
  }
  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ids_.size();
  }
  std::atomic<size_t> registered{0};

 private:
  mutable std::mutex mutex_;
  std::unordered_set<uint64_t> ids_;
};

// ---- The tracker

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

#endif  // ALLOMON_TESTS_RUNTIME_MODEL_OBJECTS_H_
