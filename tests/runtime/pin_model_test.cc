// Random graphs, compared with a model, while changing words of the stack pin some objects.
#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Node {
  long id;
  Field<Node> next[2];
  Field<Array<Node>> more;
};

// The references of the Node with this id.
struct Modelled {
  long next[2] = {-1, -1};
  std::vector<long> more;
};

constexpr size_t kRoots = 40;
constexpr size_t kWords = 24;

// One thread's graph.  Ids are not reused.
class World {
 public:
  World(Heap* heap, uint32_t seed, size_t longest)
      : heap_(heap), random_(seed), longest_(longest), roots_(kRoots), ids_(kRoots, -1) {}

  // `words` lie on the stack.
  void Run(int steps, volatile uintptr_t* words) {
    for (int step = 0; step < steps; ++step) {
      Step(words);
      if (step % 64 == 0) Verify();
      if (wrong_ != 0) return;
    }
    Verify();
  }
  long wrong() const { return wrong_; }

 private:
  size_t Below(size_t end) { return random_() % end; }

  __attribute__((noinline)) void Step(volatile uintptr_t* words) {
    const size_t n = Below(100);
    if (n < 45) {
      Make(Below(kRoots));
    } else if (n < 75) {
      Store(Below(kRoots), Below(kRoots));
    } else if (n < 80) {
      Drop(Below(kRoots));
    } else if (n < 96) {
      Pin(words, Below(kWords), Below(kRoots));
    } else if (n < 99 || Below(4) != 0) {
      heap_->Collect(CollectionKind::kMinor);
      CheckPinned();
    } else {
      heap_->Collect(CollectionKind::kMajor);
      CheckPinned();
    }
  }

  void Make(size_t to) {
    const size_t from = Below(kRoots);
    Modelled modelled;
    Local<Array<Node>> more;
    if (const size_t length = Below(8) == 0 ? Below(longest_) : 0; length != 0) {
      more = make_array<Node>(length);
      modelled.more.assign(length, -1);
      more->at(length - 1) = roots_[from];
      modelled.more[length - 1] = ids_[from];
    }
    modelled.next[0] = ids_[from];
    const long id = next_id_++;
    roots_[to] = make<Node>(id, roots_[from], nullptr, more);
    ids_[to] = id;
    model_[id] = std::move(modelled);
  }

  void Store(size_t into, size_t from) {
    if (ids_[into] < 0) return;
    Modelled& modelled = model_[ids_[into]];
    const size_t place = Below(2 + std::min<size_t>(modelled.more.size(), 3));
    if (place < 2) {
      roots_[into]->next[place] = roots_[from];
      modelled.next[place] = ids_[from];
    } else {
      const size_t i = Below(modelled.more.size());
      roots_[into]->more->at(i) = roots_[from];
      modelled.more[i] = ids_[from];
    }
  }

  void Drop(size_t at) {
    roots_[at] = nullptr;
    ids_[at] = -1;
  }

  // The word may point to any byte of the object.
  void Pin(volatile uintptr_t* words, size_t word, size_t from) {
    if (ids_[from] < 0) {
      words[word] = 0;
      pinned_[word] = {0, -1};
      return;
    }
    const uintptr_t address = reinterpret_cast<uintptr_t>(roots_[from].operator->());
    words[word] = address + Below(sizeof(Node) + 1);
    pinned_[word] = {~address, ids_[from]};
  }

  // Checks pinned objects, even those that no root reaches.
  void CheckPinned() {
    for (const auto& [hidden, id] : pinned_) {
      if (id >= 0) wrong_ += reinterpret_cast<const Node*>(~hidden)->id != id;
    }
  }

  // Checks that the objects reachable from roots and pinned objects agree with the model, and that
  // each object has one address.
  __attribute__((noinline)) void Verify() {
    std::map<long, const Node*> found;
    std::vector<const Node*> pending;
    const auto visit = [&](const Node* node, long id) {
      if (node == nullptr || id < 0) {
        wrong_ += node != nullptr || id >= 0;
        return;
      }
      const auto [place, is_new] = found.emplace(id, node);
      wrong_ += place->second != node;
      if (is_new) pending.push_back(node);
    };
    for (size_t i = 0; i < kRoots; ++i) visit(roots_[i].operator->(), ids_[i]);
    for (const auto& [hidden, id] : pinned_) {
      if (id >= 0) visit(reinterpret_cast<const Node*>(~hidden), id);
    }
    while (!pending.empty() && wrong_ == 0) {
      const Node* const node = pending.back();
      pending.pop_back();
      wrong_ += found.count(node->id) == 0 || found[node->id] != node;
      if (wrong_ != 0) return;
      const Modelled& modelled = model_[node->id];
      for (size_t i : {0, 1}) visit(node->next[i].operator->(), modelled.next[i]);
      wrong_ += modelled.more.empty() != !node->more;
      if (!node->more) continue;
      wrong_ += node->more->length() != modelled.more.size();
      for (size_t i = 0; i < modelled.more.size() && wrong_ == 0; ++i) {
        visit(node->more->at(i).operator->(), modelled.more[i]);
      }
    }
    for (auto entry = model_.begin(); entry != model_.end();) {
      entry = found.count(entry->first) != 0 ? std::next(entry) : model_.erase(entry);
    }
  }

  Heap* const heap_;
  std::mt19937 random_;
  const size_t longest_;  // array
  std::vector<Root<Node>> roots_;
  std::vector<long> ids_;
  struct PinnedNode {
    uintptr_t hidden = 0;  // ~address
    long id = -1;
  };
  std::array<PinnedNode, kWords> pinned_;
  std::map<long, Modelled> model_;
  long next_id_ = 0;
  long wrong_ = 0;
};

// The callbacks that a tracker at rate 1 has received for each object.
struct Lives {
  struct Life {
    int promotes = 0, deaths = 0;
    bool born_old = false, died_young = false;
  };
  std::mutex mutex;
  std::vector<Life> all;

  size_t Add(bool born_old) {
    const std::lock_guard<std::mutex> hold(mutex);
    all.emplace_back().born_old = born_old;
    return all.size() - 1;
  }
  template <typename Change>
  void At(size_t id, Change change) {
    const std::lock_guard<std::mutex> hold(mutex);
    change(all[id]);
  }
};

class LivesTracker {
 public:
  explicit LivesTracker(Lives* lives) : lives_(lives) {}
  std::optional<size_t> alloc_minor(const Allocation& a) { return Born(a, false); }
  std::optional<size_t> alloc_major(const Allocation& a) { return Born(a, true); }
  std::optional<size_t> promote(size_t id) {
    lives_->At(id, [](Lives::Life& life) { ++life.promotes; });
    return id;
  }
  void dealloc_minor(size_t id) { Die(id, true); }
  void dealloc_major(size_t id) { Die(id, false); }

 private:
  std::optional<size_t> Born(const Allocation& a, bool old) {
    if (a.source != AllocationSource::kNormal) return std::nullopt;
    return lives_->Add(old);
  }
  void Die(size_t id, bool young) {
    lives_->At(id, [young](Lives::Life& life) {
      ++life.deaths;
      life.died_young = young;
    });
  }
  Lives* const lives_;
};

void ExpectWholeLives(const Lives& lives) {
  EXPECT_GT(lives.all.size(), 500u);
  for (const Lives::Life& life : lives.all) {
    ASSERT_EQ(life.deaths, 1);
    ASSERT_EQ(life.promotes, life.born_old || life.died_young ? 0 : 1);
  }
}

class PinModelTest : public ::testing::TestWithParam<const char*> {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.growth_floor_bytes = 256 << 10;
    options.verify = true;
    EXPECT_TRUE(options.Parse(GetParam()).ok());
    return options;
  }
  static bool IsStress() { return GetParam()[0] == 's'; }
  void RunThread(uint32_t seed, int steps, size_t longest) {
    const Mutator mutator(*heap_);
    volatile uintptr_t words[kWords] = {};
    World world(heap_.get(), seed, longest);
    world.Run(IsStress() ? steps / 5 : steps, words);
    wrong_ += world.wrong();
  }
  void ExpectAllDead() {
    const Mutator mutator(*heap_);
    for (int i = 0; i < 3; ++i) heap_->CollectFromTop(CollectionKind::kMajor);
    const HeapStatistics s = heap_->statistics();
    EXPECT_EQ(s.old_words, 0u);
    EXPECT_EQ(s.young_words, 0u);
    EXPECT_EQ(s.allocated_words, s.promoted_words + s.freed_young_words + s.born_old_words);
    EXPECT_EQ(s.promoted_words + s.born_old_words, s.freed_old_words);
  }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  std::atomic<long> wrong_{0};
};

TEST_P(PinModelTest, SmallObjectsAmongWordsThatComeAndGo) {
  for (const uint32_t seed : {1, 2, 3, 4}) RunThread(seed, 12000, 12);
  EXPECT_EQ(wrong_, 0);
  ExpectAllDead();
}

// Arrays of up to a run of the nursery, and arrays that are born old.
TEST_P(PinModelTest, LongObjectsAmongWordsThatComeAndGo) {
  for (const uint32_t seed : {11, 12, 13}) RunThread(seed, 8000, 1300);
  EXPECT_EQ(wrong_, 0);
  ExpectAllDead();
}

TEST_P(PinModelTest, TrackerHearsEachLifeOnce) {
  Lives lives;
  StartOptions options;
  options.seed = 1;
  options.callstack_size = 0;
  ASSERT_TRUE(Tracker::start(1, LivesTracker(&lives), options).ok());
  RunThread(21, 12000, 300);
  EXPECT_EQ(wrong_, 0);
  ExpectAllDead();
  ASSERT_TRUE(Tracker::stop().ok());
  ExpectWholeLives(lives);
}

TEST_P(PinModelTest, ThreadsWithWordsOfTheirOwn) {
  std::vector<std::thread> threads;
  for (const uint32_t seed : {31, 32, 33}) {
    threads.emplace_back([this, seed] {
      for (const uint32_t more : {0, 100}) RunThread(seed + more, 5000, 100);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_, 0);
  ExpectAllDead();
}

INSTANTIATE_TEST_SUITE_P(Modes, PinModelTest,
                         ::testing::Values("growth=100", "growth=20", "stress=5"));

}  // namespace
}  // namespace allomon::gc
