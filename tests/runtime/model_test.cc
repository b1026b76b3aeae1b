// A random object graph, mutated by several threads, compared with a plain model of it.  Meanwhile
// trackers are started and stopped, and their callbacks allocate, collect and throw.
//
// Ephemerons and finalizers are part of it.  The model knows what is reachable: the key and the
// value of an ephemeron whose key is reachable are there, whatever else may have been cleared, and
// nothing that is reachable has been finalized.
//
// The test runs a fixed number of steps from fixed seeds.  With ALLOMON_MODEL_SECONDS=60 in the
// environment (--test_env), it runs other seeds until that time is over, in each mode.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/heap_core.h"
#include "runtime/internal/site_table.h"
#include "runtime/weak.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

// Of the objects made here few live long, so the heap makes these sites young; MakeSitesOld() makes
// them old again.
Site g_nodes("model nodes");
Site g_shared("model shared");
void MakeSitesOld() {
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

  // An attached thread calls Open().  An attached thread calls Close(), before the heap ends.
  void Open() { stalls_ = make_array<Shared>(kStalls); }
  void Close() { stalls_.Reset(); }

  // Puts an object, whose `next` is `next`, into a stall.  Returns its index.
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
  // A thread that waits for the lock counts as blocked, so others collect meanwhile.
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

// The nodes whose finalizers have run, on whatever thread.  Ids are never used again.
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

  static std::atomic<uint64_t> turns_;
  Heap* heap_;
  uint64_t id_;
};
std::atomic<uint64_t> WildTracker::turns_{0};

// One thread's graph.  Each operation does all that may throw before it changes the model.
class Program {
 public:
  Program(Heap* heap, Market* market, Finalized* finalized, uint64_t seed, bool marks_in_slices)
      : heap_(heap),
        market_(market),
        finalized_(finalized),
        random_(seed),
        marks_in_slices_(marks_in_slices),
        next_id_(seed << 32) {
    while (!table_) Try([this] { table_ = make_array<Ephemeron<Node, Node>>(kPairs); });
    for (size_t i = 0; i < kRoots; ++i) {
      while (models_[i] < 0) Try([this, i] { Create(i); });
    }
  }

  void Step(bool trackers) {
    Try([this, trackers] {
      if (trackers && Pick(500) == 0) return ToggleTracker();
      StepOnce();
    });
  }

  // Runs `call`.  A callback may throw at any safepoint.
  template <typename Call>
  void Try(Call call) {
    try {
      call();
    } catch (const Interrupted&) {
      ++interrupted_;
    }
  }

  void StepOnce() {
    const size_t i = Pick(kRoots);
    switch (Pick(18)) {
      case 11:
        return Pair(i, Pick(kRoots));
      case 12:
        return SetPair(i);
      case 13:
      case 14:
        return ReadPair(i);
      case 15:
        return Chain(i);
      case 16:
        return LosePair();
      case 17:
        return Finalize(i);
      case 8:
        return Publish(i);
      case 9:
      case 10:
        return Take(i);
      case 0:
      case 1:
        return Create(i);
      case 2:
        return Link(i, Pick(kRoots));
      case 3:
        return Fill(i);
      case 4:
        return Store(i, Pick(kRoots));
      case 5:
        return Write(i);
      case 6:
        return Descend(i);
      default:
        roots_[i]->left = nullptr;
        shadow(i).left = -1;
    }
  }

  // Walks both graphs side by side for a bounded number of steps.
  void Compare(size_t i) {
    Local<Node> node = roots_[i];
    int model = models_[i];
    for (int steps = 0; node && steps < 50; ++steps) {
      const Shadow& expected = shadows_[static_cast<size_t>(model)];
      ASSERT_EQ(node->id, expected.id);
      market_->Compare(node->shared, expected.shared);
      ASSERT_EQ(node->text ? std::string(node->text->view()) : "", expected.text);
      ASSERT_EQ(node->many ? node->many->length() : 0, expected.many.size());
      for (size_t k = 0; k < expected.many.size(); ++k) {
        const int child = expected.many[k];
        ASSERT_EQ(static_cast<bool>(node->many->at(k)), child >= 0);
        if (child < 0) continue;
        ASSERT_EQ(node->many->at(k)->id, shadows_[static_cast<size_t>(child)].id);
      }
      ASSERT_EQ(static_cast<bool>(node->left), expected.left >= 0);
      model = expected.left;
      node = node->left;
    }
  }

  void CompareAll() {
    for (size_t i = 0; i < kRoots; ++i) Compare(i);
    ComparePairs(false);
  }

  // What is reachable in the model has not been finalized, and is still there as the key of each of
  // its ephemerons, with the value.  `exactly`: what is not reachable has been cleared.
  void ComparePairs(bool exactly) {
    const std::vector<bool> reachable = Reachable();
    for (size_t k = 0; k < shadows_.size(); ++k) {
      if (shadows_[k].has_finalizer && reachable[k]) {
        ASSERT_FALSE(finalized_->Has(shadows_[k].id)) << k;
      }
    }
    for (size_t k = 0; k < kPairs; ++k) {
      const PairModel& model = pairs_[k];
      if (model.key < 0 || !reachable[static_cast<size_t>(model.key)]) {
        if (exactly && pair_at(k)) {
          ASSERT_FALSE((key_of<Node, Node>(pair_at(k)))) << k;
        }
        continue;
      }
      const Local<Node> key = key_of<Node, Node>(pair_at(k));
      const Local<Node> value = value_of<Node, Node>(pair_at(k));
      ASSERT_TRUE(key) << "pair " << k << " was cleared, whose key is reachable";
      ASSERT_EQ(key->id, shadows_[static_cast<size_t>(model.key)].id);
      ASSERT_EQ(static_cast<bool>(value), model.value >= 0);
      if (value) {
        ASSERT_EQ(value->id, shadows_[static_cast<size_t>(model.value)].id);
      }
    }
  }

 private:
  static constexpr size_t kRoots = 40;
  static constexpr size_t kPairs = 2048;

  struct PairModel {
    int key = -1;
    int value = -1;
  };

  size_t Pick(size_t n) { return random_() % n; }
  Shadow& shadow(size_t i) { return shadows_[static_cast<size_t>(models_[i])]; }

  void Create(size_t i) {
    const uint64_t id = ++next_id_;
    if (Pick(2) == 0) {
      roots_[i] = make<Node>(id, nullptr, nullptr, nullptr, nullptr);
      shadows_.push_back({id, -1, {}, "", -1});
    } else {
      const size_t from = Pick(kRoots);
      const int left = models_[from];
      roots_[i] = make<Node>(g_nodes, id, roots_[from], nullptr, nullptr, nullptr);
      shadows_.push_back({id, roots_[i]->left ? left : -1, {}, "", -1});
    }
    models_[i] = static_cast<int>(shadows_.size()) - 1;
  }

  void Link(size_t i, size_t to) {
    roots_[i]->left = roots_[to];
    shadow(i).left = models_[to];
  }

  void Fill(size_t i) {
    const size_t length = Pick(20) == 0 ? 1024 + Pick(2000) : Pick(12);
    roots_[i]->many = make_array<Node>(length);
    shadow(i).many.assign(length, -1);
  }

  void Store(size_t i, size_t to) {
    if (shadow(i).many.empty()) return;
    const size_t k = Pick(shadow(i).many.size());
    roots_[i]->many->at(k) = roots_[to];
    shadow(i).many[k] = models_[to];
  }

  void Write(size_t i) {
    const std::string text(Pick(100) == 0 ? 9000 : Pick(60), static_cast<char>('a' + Pick(26)));
    roots_[i]->text = make_bytes(text);
    shadow(i).text = text;
  }

  // Makes a new shared object that points to this root's shared object, and puts it in its place.
  void Publish(size_t i) {
    const std::string text(Pick(30), static_cast<char>('a' + Pick(26)));
    const Local<Bytes> bytes = make_bytes(text);
    const Local<Shared> object = make<Shared>(g_shared, ++next_id_, roots_[i]->shared, bytes);
    const int next = shadow(i).shared;
    const int index = market_->Publish(Pick(Market::kStalls), object, next, text);
    roots_[i]->shared = object;
    shadow(i).shared = index;
  }

  void Take(size_t i) {
    int index = -1;
    const Local<Shared> object = market_->Take(Pick(Market::kStalls), &index);
    roots_[i]->shared = object;
    shadow(i).shared = index;
  }

  // Starts or stops the one plain tracker that all threads share.  Each thread may stop a tracker
  // that another one started.
  void ToggleTracker() {
    constexpr double kRates[] = {0, 1e-3, 0.05, 1};
    StartOptions options;
    options.seed = random_();
    options.callstack_size = static_cast<uint32_t>(Pick(3) * 8);
    const double rate = kRates[Pick(4)];
    const auto id = Tracker::start(rate, WildTracker(heap_, Pick(1000)), options);
    if (id.ok()) {
      last_ = *id;
    } else if (Pick(2) == 0) {
      Tracker::stop(StopMode::kKeepTracking).IgnoreError();
    } else {
      Tracker::stop().IgnoreError();
      Tracker::discard(last_).IgnoreError();
    }
  }

  Local<Ephemeron<Node, Node>> pair_at(size_t k) { return table_->at(k); }

  void Pair(size_t key, size_t value) {
    const size_t k = Pick(kPairs);
    table_->at(k) = make_ephemeron<Node, Node>(roots_[key], roots_[value]);
    pairs_[k] = {models_[key], models_[value]};
  }

  // An old ephemeron gets a young key that nothing else refers to, one that lives, or none.
  void SetPair(size_t i) {
    const size_t k = Pick(kPairs);
    if (!table_->at(k)) return;
    const size_t kind = Pick(4);
    if (kind == 0) {
      set_ephemeron<Node, Node>(pair_at(k), nullptr, roots_[i]);
      pairs_[k] = {};
    } else if (kind == 1) {
      set_ephemeron<Node, Node>(pair_at(k), roots_[i], nullptr);
      pairs_[k] = {models_[i], -1};
    } else {
      const int key = static_cast<int>(shadows_.size());
      set_ephemeron<Node, Node>(pair_at(k), MakeNode(), roots_[i]);
      pairs_[k] = {key, models_[i]};
    }
  }

  // Key or value, if it is there, becomes a root.  The key may be one that only the ephemeron knew.
  void ReadPair(size_t i) {
    const size_t k = Pick(kPairs);
    if (!table_->at(k)) return;
    const bool wants_key = Pick(2) == 0;
    const Local<Node> key = key_of<Node, Node>(pair_at(k));
    const Local<Node> value = value_of<Node, Node>(pair_at(k));
    if (!key) {
      ASSERT_FALSE(value);
      return;
    }
    ASSERT_GE(pairs_[k].key, 0);
    ASSERT_EQ(key->id, shadows_[static_cast<size_t>(pairs_[k].key)].id);
    ASSERT_EQ(static_cast<bool>(value), pairs_[k].value >= 0);
    if (!wants_key && !value) return;
    roots_[i] = wants_key ? key : value;
    models_[i] = wants_key ? pairs_[k].key : pairs_[k].value;
    ASSERT_EQ(roots_[i]->id, shadow(i).id);
  }

  void Chain(size_t i) {
    const bool with_tenure = Pick(8) == 0;
    MakeChain(i, with_tenure);
    // A marking begins, before a collection at once takes the tenure away.
    if (with_tenure && marks_in_slices_) {
      heap_->core().CollectForGrowth(internal::CurrentMutator());
    }
  }

  // Each value is the key of the next, and nothing else refers to it.  They lie in the table in any
  // order.  `with_tenure`: many, which stay for some collections, since this frame refers to them.
  __attribute__((noinline)) void MakeChain(size_t i, bool with_tenure) {
    constexpr size_t kLongest = 24;
    Local<Node> nodes[kLongest];
    const size_t length = with_tenure ? kLongest : 3 + Pick(4);
    Local<Node> key = roots_[i];
    int key_model = models_[i];
    for (size_t n = 0; n < length; ++n) {
      const size_t k = Pick(kPairs);
      const int value_model = static_cast<int>(shadows_.size());
      nodes[n] = MakeNode();
      table_->at(k) = make_ephemeron<Node, Node>(key, nodes[n]);
      pairs_[k] = {key_model, value_model};
      key = nodes[n];
      key_model = value_model;
    }
    for (int n = 0; with_tenure && n < 3; ++n) heap_->Collect(CollectionKind::kMinor);
    asm volatile("" : : "r"(&nodes) : "memory");
  }

  void LosePair() {
    const size_t k = Pick(kPairs);
    table_->at(k) = nullptr;
    pairs_[k] = {};
  }

  void Finalize(size_t i) {
    if (shadow(i).has_finalizer) return;
    Finalized* const finalized = finalized_;
    const uint64_t id = shadow(i).id;
    add_finalizer<Node>(roots_[i], [finalized, id](Handle<Node> node) {
      EXPECT_EQ(node->id, id);
      finalized->Note(id);
      make_bytes("finalized");
    });
    shadow(i).has_finalizer = true;
    ++finalized->registered;
  }

  // A node that nothing in the model refers to yet.
  Local<Node> MakeNode() {
    const uint64_t id = ++next_id_;
    const Local<Node> node = make<Node>(id, nullptr, nullptr, nullptr, nullptr);
    shadows_.push_back({id, -1, {}, "", -1});
    return node;
  }

  // By model: from the roots, and from the values of ephemerons with reachable keys.
  std::vector<bool> Reachable() const {
    std::vector<bool> reachable(shadows_.size());
    std::vector<int> left(models_);
    const auto mark_all = [&] {
      while (!left.empty()) {
        const int index = left.back();
        left.pop_back();
        if (index < 0 || reachable[static_cast<size_t>(index)]) continue;
        reachable[static_cast<size_t>(index)] = true;
        const Shadow& shadow = shadows_[static_cast<size_t>(index)];
        left.push_back(shadow.left);
        left.insert(left.end(), shadow.many.begin(), shadow.many.end());
      }
    };
    mark_all();
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (const PairModel& pair : pairs_) {
        if (pair.key < 0 || pair.value < 0 || !reachable[static_cast<size_t>(pair.key)]) continue;
        if (reachable[static_cast<size_t>(pair.value)]) continue;
        left.push_back(pair.value);
        mark_all();
        has_changed = true;
      }
    }
    return reachable;
  }

  void Descend(size_t i) {
    if (shadow(i).left < 0) return;
    models_[i] = shadow(i).left;
    roots_[i] = roots_[i]->left;
  }

  Heap* heap_;
  Market* market_;
  Finalized* finalized_;
  std::mt19937_64 random_;
  const bool marks_in_slices_;
  TrackerId last_;
  int interrupted_ = 0;
  uint64_t next_id_;
  std::vector<Local<Node>> roots_{kRoots};
  std::vector<int> models_ = std::vector<int>(kRoots, -1);
  std::vector<Shadow> shadows_;
  Root<Array<Ephemeron<Node, Node>>> table_;
  PairModel pairs_[kPairs];
};

struct Case {
  const char* options;
  int threads;
  int steps;
  bool trackers;
  // For markings in slices that last: so many nodes that stay, and a minor collection after so many
  // steps.
  int filler = 0;
  int minor_every = INT_MAX;
};

Local<Node> MakeFiller(int length) {
  Local<Node> filler;
  while (length > 0) {
    try {
      filler = make<Node>(0u, filler, nullptr, nullptr, nullptr);
      --length;
    } catch (const Interrupted&) {
    }
  }
  return filler;
}

void RunProgram(Heap& heap, Market* market, Finalized* finalized, uint64_t seed, const Case& mode) {
  const Mutator mutator(heap);
  // Roots that were made later are marked first: ephemerons are met at the beginning.
  const Root<Node> filler = MakeFiller(mode.filler);
  Program program(&heap, market, finalized, seed, mode.filler > 0);
  for (int i = 1; i <= mode.steps; ++i) {
    program.Step(mode.trackers);
    if (i % 7 == 0) program.Try([&] { program.Compare(static_cast<size_t>(i / 7) % 40); });
    if (i % 5000 == 0) program.Try([&] { heap.Collect(CollectionKind::kMajor); });
    if (i % mode.minor_every == 0) program.Try([&] { heap.Collect(CollectionKind::kMinor); });
    if (i % 500 == 0) program.Try(MakeSitesOld);
    if (i % 300 == 0) program.ComparePairs(false);
  }
  program.Try([&] { program.CompareAll(); });
  program.Try([&] { heap.CollectFromTop(CollectionKind::kMajor); });
  // Otherwise another thread's stack may have stale words of objects.
  const bool is_exact = mode.threads == 1;
  program.ComparePairs(is_exact);
}

class ModelTest : public ::testing::TestWithParam<Case> {};

// Blocks of trackers that were stopped with kKeepTracking still have their callbacks.
void CollectWhateverIsThrown(Heap& heap) {
  for (bool thrown = true; thrown;) {
    thrown = false;
    try {
      heap.CollectFromTop(CollectionKind::kMajor);
    } catch (const Interrupted&) {
      thrown = true;
    }
  }
}

void RunThreads(const Case& mode, uint64_t seed) {
  HeapOptions options;
  ASSERT_TRUE(options.Parse(mode.options).ok());
  const auto heap = Heap::Create(options).value();
  Market market;
  Finalized finalized;
  {
    const Mutator mutator(*heap);
    market.Open();
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < mode.threads; ++t) {
    threads.emplace_back(
        [&, t] { RunProgram(*heap, &market, &finalized, seed + static_cast<uint64_t>(t), mode); });
  }
  for (std::thread& thread : threads) thread.join();
  Tracker::stop().IgnoreError();
  {
    const Mutator mutator(*heap);
    market.Close();
    CollectWhateverIsThrown(*heap);
    CollectWhateverIsThrown(*heap);  // what the first one has finalized
  }
  EXPECT_EQ(finalized.size(), finalized.registered);
  const HeapStatistics s = heap->statistics();
  EXPECT_EQ(s.allocated_words, s.freed_young_words + s.freed_old_words);
  EXPECT_EQ(s.promoted_words + s.born_old_words, s.freed_old_words);
}

TEST_P(ModelTest, GraphAndModelAgree) {
  const char* text = getenv("ALLOMON_MODEL_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(text == nullptr ? 0 : atoi(text));
  uint64_t seed = 1;
  do {
    RunThreads(GetParam(), seed);
    seed += 10;
    ASSERT_FALSE(HasFailure()) << "seed " << seed - 10;
  } while (std::chrono::steady_clock::now() < end);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, ModelTest,
    ::testing::Values(
        Case{"nursery=64K,floor=256K", 1, 150000, false},
        Case{"nursery=64K,floor=256K", 1, 100000, true},
        Case{"nursery=64K,floor=256K", 4, 30000, false},
        Case{"nursery=64K,floor=256K", 4, 20000, true},
        Case{"nursery=64K,floor=256K,verify", 1, 10000, true},
        Case{"nursery=64K,floor=128K,verify", 4, 3000, true},
        Case{"nursery=64K,floor=256K,incremental=0", 3, 25000, true},
        Case{"nursery=64K,floor=256K,incremental=0,"
             "background=0,slice=1,verify",
             2, 4000, true},
        Case{"nursery=64K,floor=64K,stress=1,incremental=0,slice=1", 1, 4000, true, 500},
        Case{"nursery=64K,stress=1", 1, 5000, true},
        Case{"nursery=64K,stress=1,verify", 1, 700, true},
        Case{"nursery=64K,stress=3,verify", 4, 300, true},
        Case{"nursery=64K,floor=256K,mark_stack=16", 2, 15000, true},
        Case{"nursery=64K,floor=256K,incremental=0,background=0,slice=1", 1, 8000, false, 1000, 1},
        Case{"nursery=64K,floor=256K,incremental=0,slice=1", 2, 4000, true, 1000, 1}));

}  // namespace
}  // namespace allomon::gc
