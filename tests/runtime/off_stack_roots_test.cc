// References in the program's own memory, where no stack is scanned.
#include <sys/wait.h>

#include <algorithm>
#if defined(__cpp_impl_coroutine)
#include <coroutine>
#endif
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

HeapOptions Options(const std::string& more) {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.growth_floor_bytes = 256 << 10;
  options.verify = true;
  EXPECT_TRUE(options.Parse(more).ok());
  return options;
}

class OffStackRootsTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Collects, so that all objects without a root are gone and the others have moved.
  void Churn() {
    heap_->CollectFromTop(CollectionKind::kMinor);
    for (int i = 0; i < 3000; ++i) make<Cell>(-1, nullptr);
    heap_->CollectFromTop(CollectionKind::kMajor);
  }
  void ExpectNothingLives() {
    heap_->CollectFromTop(CollectionKind::kMajor);
    heap_->CollectFromTop(CollectionKind::kMajor);
    EXPECT_EQ(heap_->statistics().old_words, 0u);
    EXPECT_EQ(heap_->statistics().young_words, 0u);
  }
  // Runs `body` on an attached thread; this thread stands meanwhile.
  template <typename Body>
  void InThread(Body body) {
    const NativeRegion native;
    std::thread([&] {
      const Mutator mutator(*heap_);
      body();
    }).join();
  }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options(GetParam())).value();
  Mutator mutator_{*heap_};
};
INSTANTIATE_TEST_SUITE_P(Modes, OffStackRootsTest, ::testing::Values("growth=100", "stress=2"));

// --- Roots.

TEST_P(OffStackRootsTest, RootsInAMapFollowTheirNodes) {
  std::map<std::string, Root<Cell>> map;
  for (int i = 0; i < 200; ++i)
    map[std::to_string(i * 37 % 200)] = make<Cell>(i * 37 % 200, nullptr);
  Churn();
  for (int i = 0; i < 200; i += 2) map.erase(std::to_string(i));
  std::map<std::string, Root<Cell>> merged;
  merged.merge(map);
  Churn();
  EXPECT_TRUE(map.empty());
  for (int i = 1; i < 200; i += 2) ASSERT_EQ(merged[std::to_string(i)]->head, i);
  EXPECT_EQ(merged.size(), 100u);
  merged.clear();
  ExpectNothingLives();
}

// Closures are copied and moved between the stack and malloc's memory.
TEST_P(OffStackRootsTest, RootsInClosuresAreCopiedWithThem) {
  std::vector<std::function<long(long)>> closures;
  for (long i = 0; i < 40; ++i) {
    const Root<Cell> captured = make<Cell>(i, make<Cell>(1000, nullptr));
    closures.emplace_back([captured](long more) {
      const Local<Cell> result = make<Cell>(captured->head + more, captured);
      return result->head + captured->tail->head;
    });
  }
  std::vector<std::function<long(long)>> copies = closures;
  closures.erase(closures.begin(), closures.begin() + 20);
  Churn();
  for (long i = 0; i < 40; ++i) ASSERT_EQ(copies[static_cast<size_t>(i)](5), i + 1005);
  for (long i = 20; i < 40; ++i) ASSERT_EQ(closures[static_cast<size_t>(i - 20)](6), i + 1006);
  copies.clear();
  closures.clear();
  ExpectNothingLives();
}

class Interpreter {
 public:
  explicit Interpreter(long id) : first_(make<Cell>(id, nullptr)), last_(first_) {}
  void Add(long value) {
    const Local<Cell> cell = make<Cell>(value, nullptr);
    last_->tail = cell;
    last_ = cell;
  }
  long Sum() const {
    long sum = 0;
    for (Local<Cell> cell = first_; cell; cell = cell->tail) sum += cell->head;
    return sum;
  }

 private:
  Root<Cell> first_;
  Root<Cell> last_;
};

TEST_P(OffStackRootsTest, RootsAsMembersOfObjectsThatAreCopied) {
  std::vector<std::unique_ptr<Interpreter>> all;
  for (long i = 0; i < 20; ++i) all.push_back(std::make_unique<Interpreter>(i));
  for (long value = 1; value <= 50; ++value) {
    for (const auto& interpreter : all) interpreter->Add(value);
  }
  std::vector<Interpreter> copies;  // grows, and copies its elements
  for (const auto& interpreter : all) copies.push_back(*interpreter);
  all.erase(all.begin() + 10, all.end());
  Churn();
  for (size_t i = 0; i < copies.size(); ++i) {
    ASSERT_EQ(copies[i].Sum(), static_cast<long>(i) + 50 * 51 / 2);
    if (i < all.size()) {
      ASSERT_EQ(all[i]->Sum(), copies[i].Sum());
    }
  }
  copies.clear();
  all.clear();
  ExpectNothingLives();
}

struct Error : std::runtime_error {
  explicit Error(Local<Cell> object) : std::runtime_error("error"), cell(object) {}
  Root<Cell> cell;
};

void ThrowThrough(int depth) {
  const Root<Cell> passed = make<Cell>(depth, nullptr);
  if (depth == 0) throw Error(make<Cell>(77, make<Cell>(78, nullptr)));
  try {
    ThrowThrough(depth - 1);
  } catch (const Error&) {
    make<Cell>(0, nullptr);
    throw;
  }
}

TEST_P(OffStackRootsTest, RootInAnExceptionLivesAsLongAsTheException) {
  std::exception_ptr kept;
  try {
    ThrowThrough(20);
  } catch (const Error& error) {
    Churn();
    EXPECT_EQ(error.cell->head + error.cell->tail->head, 155);
    kept = std::current_exception();
  }
  Churn();
  try {
    std::rethrow_exception(kept);
  } catch (const Error& error) {
    EXPECT_EQ(error.cell->head + error.cell->tail->head, 155);
  }
  kept = nullptr;
  ExpectNothingLives();
}

// --- Containers whose memory is a root.

TEST_P(OffStackRootsTest, VectorOfLocalsGrowsWhileItsElementsAreMade) {
  std::vector<Local<Cell>> vector;
  for (long i = 0; i < 1000; ++i) {
    vector.push_back(make<Cell>(i, i == 0 ? Local<Cell>() : vector[static_cast<size_t>(i / 2)]));
  }
  Churn();
  std::vector<std::vector<Local<Cell>>> rows(10, vector);
  rows.erase(rows.begin(), rows.begin() + 5);
  std::swap(rows[0], vector);
  vector.resize(5000);
  vector.shrink_to_fit();
  Churn();
  for (const auto& row : rows) {
    for (size_t i = 1; i < 1000; ++i) ASSERT_EQ(row[i]->tail, row[i / 2]);
  }
  for (size_t i = 0; i < 5000; ++i) ASSERT_EQ(static_cast<bool>(vector[i]), i < 1000);
  vector = std::vector<Local<Cell>>();
  rows.clear();
  ExpectNothingLives();
}

TEST_P(OffStackRootsTest, QueuesOfLocalsKeepTheirOrder) {
  const auto later = [](Local<Cell> a, Local<Cell> b) { return a->head > b->head; };
  std::priority_queue<Local<Cell>, std::vector<Local<Cell>>, decltype(later)> heap(later);
  std::deque<Local<Cell>> deque;
  for (long i = 0; i < 1000; ++i) {
    heap.push(make<Cell>(i * 387 % 1000, nullptr));
    deque.push_back(make<Cell>(i, nullptr));
    if (i % 3 == 0) deque.pop_front();
  }
  std::deque<Local<Cell>> copy = deque;
  copy.insert(copy.begin() + 100, make<Cell>(-5, nullptr));
  Churn();
  for (long i = 0; i < 1000; ++i) {
    ASSERT_EQ(heap.top()->head, i);
    heap.pop();
  }
  ASSERT_EQ(deque.size(), 666u);
  for (size_t i = 0; i < 666; ++i) ASSERT_EQ(deque[i]->head, static_cast<long>(i) + 334);
  EXPECT_EQ(copy[100]->head, -5);
  std::sort(copy.begin(), copy.end(), later);
  EXPECT_EQ(copy.back()->head, -5);
}

TEST_P(OffStackRootsTest, VectorOfLocalsIsFilledHereAndFreedThere) {
  std::vector<Local<Cell>> vector;
  for (long i = 0; i < 100; ++i) vector.push_back(make<Cell>(i, nullptr));
  long wrong = 0;
  InThread([&] {
    for (long i = 0; i < 1000; ++i) vector.push_back(make<Cell>(100 + i, nullptr));
    const std::vector<Local<Cell>> taken = std::move(vector);
    heap_->Collect(CollectionKind::kMajor);
    for (size_t i = 0; i < 1100; ++i) wrong += taken[i]->head != static_cast<long>(i);
  });
  EXPECT_EQ(wrong, 0);
  ExpectNothingLives();
}

TEST_P(OffStackRootsTest, VectorOfLocalsOutlivesTheThreadThatFilledIt) {
  std::vector<Local<Cell>> vector;
  InThread([&vector] {
    for (long i = 0; i < 50; ++i) vector.push_back(make<Cell>(i, nullptr));
  });
  Churn();
  for (long i = 0; i < 50; ++i) ASSERT_EQ(vector[static_cast<size_t>(i)]->head, i);
}

static_assert(std::is_trivially_copyable_v<Local<Cell>> && sizeof(Local<Cell>) == sizeof(void*),
              "a Local is passed in a register");

// --- Misuse that is refused or detected.

using OffStackRootsDeathTest = OffStackRootsTest;
INSTANTIATE_TEST_SUITE_P(Modes, OffStackRootsDeathTest, ::testing::Values("growth=100"));

TEST_P(OffStackRootsDeathTest, RootIsDestroyedOnAnotherThread) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto root = std::make_unique<Root<Cell>>(make<Cell>(1, nullptr));
  EXPECT_DEATH(InThread([&] { root.reset(); }), "rule.root.thread");
  EXPECT_DEATH(
      {
        const NativeRegion native;
        std::thread([&] { root.reset(); }).join();
      },
      "rule.attached|rule.root.thread");
}

TEST_P(OffStackRootsDeathTest, ThreadDetachesWhileARootLives) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(InThread([] { static_cast<void>(new Root<Cell>(make<Cell>(1, nullptr))); }),
               "rule.detach");
}

TEST_P(OffStackRootsDeathTest, ThreadDetachesWhileAValueStackLives) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(InThread([] { static_cast<void>(new ValueStack<Cell>); }), "rule.detach");
}

TEST_P(OffStackRootsDeathTest, ValueStackIsUsedOnAnotherThread) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto stack = std::make_unique<ValueStack<Cell, 1>>();
  EXPECT_DEATH(InThread([&] { stack.reset(); }), "rule.value_stack.thread");
  EXPECT_DEATH(InThread([&] { stack->Resize(2); }), "rule.value_stack.thread");
  EXPECT_DEATH(
      {
        const NativeRegion native;
        std::thread([&] { stack.reset(); }).join();
      },
      "rule.attached");
}

// The compiler refuses `Cell cell;`, but not an initialiser for each Field.
__attribute__((noinline)) void AssignOutsideOfTheHeap(Heap& heap, Cell& cell) {
  cell.tail = make<Cell>(1, nullptr);
  heap.Collect(CollectionKind::kMinor);
  asm volatile("" : : "r"(&cell) : "memory");
}

TEST_P(OffStackRootsDeathTest, AManagedStructIsAVariable) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* options : {"stress=1", "verify"}) {
    const auto assign = [options](Cell& cell) {
      HeapOptions parsed;
      EXPECT_TRUE(parsed.Parse(options).ok());
      const auto heap = Heap::Create(parsed).value();
      const Mutator mutator(*heap);
      AssignOutsideOfTheHeap(*heap, cell);
    };
    EXPECT_DEATH(std::thread([&assign] {
                   Cell cell{1, nullptr};
                   assign(cell);
                 }).join(),
                 "rule.field");
    EXPECT_DEATH(std::thread([&assign] {
                   static Cell cell{1, nullptr};
                   assign(cell);
                 }).join(),
                 "rule.field");
    EXPECT_DEATH(std::thread([&assign] { assign(*new Cell{1, nullptr}); }).join(), "rule.field");
  }
}

__attribute__((noinline)) uintptr_t MakeHidden() {
  return ~reinterpret_cast<uintptr_t>(make<Cell>(41, nullptr).operator->());
}
__attribute__((noinline)) void CollectAllButTheStack(Heap& heap) {
  internal::Collect(heap.core(), CollectionKind::kMinor, &internal::CurrentMutator(),
                    internal::CallersStack::kKeepsNothing);
}
// Hides a Local from the collector.
__attribute__((noinline)) long UseHiddenLocal(int collections) {
  const auto heap = Heap::Create(Options("stress=1")).value();
  const Mutator mutator(*heap);
  const auto hidden = std::make_unique<uintptr_t>(MakeHidden());
  for (int i = 0; i < collections; ++i) CollectAllButTheStack(*heap);
  return reinterpret_cast<volatile Cell*>(~*hidden)->head;
}

TEST_P(OffStackRootsDeathTest, StressTakesAccessFromAnObjectThatNobodyHolds) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (int collections = 1; collections <= 4; ++collections) {
    EXPECT_DEATH(std::thread(UseHiddenLocal, collections).join(), "") << collections;
  }
  EXPECT_DEATH(std::thread(UseHiddenLocal, 1000).join(), "");
}

// A holder has a Local in memory that is not scanned.  `use` returns the number of the object.
template <typename Holder>
__attribute__((noinline)) void Hold(std::unique_ptr<Holder>& holder) {
  holder = std::make_unique<Holder>();
}
template <typename Holder>
void UseHolder() {
  const auto heap = Heap::Create(Options("stress=1")).value();
  const Mutator mutator(*heap);
  std::unique_ptr<Holder> holder;
  Hold(holder);
  for (int i = 0; i < 2; ++i) CollectAllButTheStack(*heap);
  // Found alive, or with others' contents: not caught.  The address sanitizer ends a fault by 1.
  exit(holder->Use() == 41 ? 0 : 2);
}

struct InClosure {
  std::function<long()> use;
  InClosure() {
    const Local<Cell> cell = make<Cell>(41, nullptr);
    use = [cell] { return cell->head; };
  }
  long Use() { return use(); }
};
struct InMap {
  std::map<int, Local<Cell>> map;
  InMap() { map[1] = make<Cell>(41, nullptr); }
  long Use() { return map[1]->head; }
};

#if defined(__cpp_impl_coroutine)
struct NoBase {};
template <typename Base>
struct Task {
  struct promise_type : Base {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};
template <typename Base>
Task<Base> ReadLater(long* head) {
  const Local<Cell> cell = make<Cell>(41, nullptr);
  co_await std::suspend_always();
  *head = cell->head;
}
struct InCoroutine {
  long head = 0;
  Task<NoBase> task = ReadLater<NoBase>(&head);
  long Use() {
    task.handle.resume();
    return head;
  }
};
#endif

TEST_P(OffStackRootsDeathTest, StressFindsLocalsOffTheStack) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto ends_by_fault = [](int status) {
    return !WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2);
  };
  EXPECT_EXIT(std::thread(UseHolder<InClosure>).join(), ends_by_fault, "");
  EXPECT_EXIT(std::thread(UseHolder<InMap>).join(), ends_by_fault, "");
#if defined(__cpp_impl_coroutine)
  EXPECT_EXIT(std::thread(UseHolder<InCoroutine>).join(), ends_by_fault, "");
#endif
}

// --- Frames of coroutines that are scanned.

#if defined(__cpp_impl_coroutine)
Task<ScannedFrame> SumLater(long length, long* sum) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) {
    list = make<Cell>(i, list);
    if (i % 50 == 0) co_await std::suspend_always();
  }
  for (Local<Cell> cell = list; cell; cell = cell->tail) *sum += cell->head;
}

// A frame is made, resumed and destroyed on whatever thread, and is scanned in between.
TEST_P(OffStackRootsTest, LocalsInScannedFramesLiveAcrossSuspensions) {
  constexpr long kTasks = 20, kLength = 100;
  std::vector<long> sums(kTasks);
  std::vector<Task<ScannedFrame>> tasks;
  for (long& sum : sums) tasks.push_back(SumLater(kLength, &sum));
  for (int round = 1; round <= 2; ++round) {
    Churn();
    const auto resume = [&](size_t first) {
      for (size_t i = first; i < tasks.size(); i += 2) tasks[i].handle.resume();
    };
    resume(0);
    InThread([&] { resume(1); });
  }
  for (const long sum : sums) EXPECT_EQ(sum, kLength * (kLength - 1) / 2);
  for (size_t i = 0; i < tasks.size(); ++i) {
    ASSERT_TRUE(tasks[i].handle.done());
    if (i % 3 == 0) tasks[i].handle.destroy();
  }
  std::thread([&] {  // not attached
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (i % 3 != 0) tasks[i].handle.destroy();
    }
  })
      .join();
  ExpectNothingLives();
}

// A frame that waits keeps its objects until it is destroyed.
TEST_P(OffStackRootsTest, ScannedFrameThatIsDestroyedLeavesItsObjectsToDie) {
  long sum = 0;
  const Task<ScannedFrame> task = SumLater(100, &sum);
  task.handle.resume();
  Churn();
  const HeapStatistics statistics = heap_->statistics();
  EXPECT_EQ(statistics.old_words + statistics.young_words, uint64_t{51 * 3});
  task.handle.destroy();
  ExpectNothingLives();
}
#endif

}  // namespace
}  // namespace allomon::gc
