// A random object graph, mutated by several threads, against a plain model of it.
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"

namespace allomon::gc {
namespace {

struct Node {
  uint64_t id;
  Field<Node> left;
  Field<Array<Node>> many;
  Field<Bytes> text;
};

// The model: the same graph in indices, never collected.
struct Shadow {
  uint64_t id;
  int left = -1;
  std::vector<int> many;
  std::string text;
};

// One thread's graph; other threads only share the heap.
class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed), next_id_(seed << 32) {
    for (size_t i = 0; i < kRoots; ++i) Create(i);
  }

  void Step() {
    const size_t i = Pick(kRoots);
    switch (Pick(8)) {
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

  // Walks both graphs side by side, a bounded way.
  void Compare(size_t i) {
    Local<Node> node = roots_[i];
    int model = models_[i];
    for (int steps = 0; node && steps < 50; ++steps) {
      const Shadow& expected = shadows_[static_cast<size_t>(model)];
      ASSERT_EQ(node->id, expected.id);
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
  }

 private:
  static constexpr size_t kRoots = 40;

  size_t Pick(size_t n) { return random_() % n; }
  Shadow& shadow(size_t i) { return shadows_[static_cast<size_t>(models_[i])]; }

  void Create(size_t i) {
    const uint64_t id = ++next_id_;
    if (Pick(2) == 0) {
      roots_[i] = make<Node>(id, nullptr, nullptr, nullptr);
      shadows_.push_back({id, -1, {}, ""});
    } else {
      const size_t from = Pick(kRoots);
      const int left = models_[from];
      roots_[i] = make<Node>(id, roots_[from], nullptr, nullptr);
      shadows_.push_back({id, roots_[i]->left ? left : -1, {}, ""});
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

  void Descend(size_t i) {
    if (shadow(i).left < 0) return;
    models_[i] = shadow(i).left;
    roots_[i] = roots_[i]->left;
  }

  std::mt19937_64 random_;
  uint64_t next_id_;
  std::vector<Local<Node>> roots_{kRoots};
  std::vector<int> models_ = std::vector<int>(kRoots, -1);
  std::vector<Shadow> shadows_;
};

void RunProgram(Heap& heap, uint64_t seed, int steps, int compare_every) {
  const Mutator mutator(heap);
  Program program(seed);
  for (int i = 0; i < steps; ++i) {
    program.Step();
    if (i % compare_every == 0) program.Compare(static_cast<size_t>(i / compare_every) % 40);
    if (i % 5000 == 0) heap.Collect(CollectionKind::kMajor);
  }
  program.CompareAll();
}

struct Case {
  const char* options;
  int threads;
  int steps;
};

class ModelTest : public ::testing::TestWithParam<Case> {};

// ALLOMON_MODEL_SCALE multiplies the number of steps, for long runs.
int Scale() {
  const char* text = getenv("ALLOMON_MODEL_SCALE");
  return text == nullptr ? 1 : atoi(text);
}

TEST_P(ModelTest, GraphAndModelAgree) {
  HeapOptions options;
  ASSERT_TRUE(options.Parse(GetParam().options).ok());
  const auto heap = Heap::Create(options).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < GetParam().threads; ++t) {
    threads.emplace_back([&heap, t] {
      RunProgram(*heap, static_cast<uint64_t>(t) + 1, GetParam().steps * Scale(), 7);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const HeapStatistics s = heap->statistics();
  EXPECT_EQ(s.allocated_words,
            s.promoted_words + s.freed_young_words + s.young_words + s.born_old_words);
  EXPECT_EQ(s.promoted_words + s.born_old_words, s.freed_old_words + s.old_words);
}

INSTANTIATE_TEST_SUITE_P(Modes, ModelTest,
                         ::testing::Values(Case{"nursery=64K,floor=256K", 1, 200000},
                                           Case{"nursery=64K,floor=256K", 4, 50000},
                                           Case{"nursery=64K,floor=256K,verify", 1, 20000},
                                           Case{"nursery=64K,floor=128K,verify", 4, 6000},
                                           Case{"nursery=64K,stress=1", 1, 6000},
                                           Case{"nursery=64K,stress=1,verify", 1, 1000},
                                           Case{"nursery=64K,stress=3,verify", 4, 500},
                                           Case{"nursery=64K,floor=256K,mark_stack=16", 2, 20000}));

}  // namespace
}  // namespace allomon::gc
