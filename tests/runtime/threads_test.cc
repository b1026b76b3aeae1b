// Stops, native regions, exits and forks.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/mutator.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

HeapOptions Options() {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.growth_floor_bytes = 256 << 10;
  return options;
}

long BuildAndSum(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
  long sum = 0;
  for (Local<Cell> cell = list; cell; cell = cell->tail) sum += cell->head;
  return sum;
}

TEST(ThreadsTest, ManyThreadsAllocateAtOnce) {
  const auto heap = Heap::Create(Options()).value();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Mutator mutator(*heap);
      for (int i = 0; i < 20; ++i) wrong += BuildAndSum(5000) != 5000L * 4999 / 2;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A thread that collects in a loop lets the others out of its stops, and run between them.
TEST(ThreadsTest, AThreadThatCollectsInALoopLeavesTimeToOthers) {
  constexpr int kWorkers = 3;
  constexpr int kRounds = 1000;  // collections, at most, until the others have done their work
  const auto heap = Heap::Create(Options()).value();
  std::atomic<int> begun{0};
  std::atomic<int> left{kWorkers};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kWorkers; ++t) {
    threads.emplace_back([&] {
      const Mutator mutator(*heap);
      ++begun;
      while (begun != kWorkers) Safepoint();
      // So many safepoints that each needs several stops if it gets no further than the next one.
      for (int i = 0; i < 100000; ++i) {
        const Local<Cell> cell = make<Cell>(i, nullptr);
        wrong += cell->head != i;
      }
      --left;
    });
  }
  const Mutator mutator(*heap);
  while (begun != kWorkers) Safepoint();
  int rounds = 0;
  for (; left != 0; ++rounds) heap->Collect(CollectionKind::kMajor);
  for (std::thread& thread : threads) {
    const NativeRegion native;
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(rounds, kRounds);
  const HeapStatistics s = heap->statistics();
  EXPECT_GT(s.total_stop_ns, 0u);
  EXPECT_LE(s.longest_stop_ns, s.longest_pause_ns);
}

struct Collecting {
  Heap* heap;
  std::atomic<internal::Mutator*> mutator{nullptr};
  std::atomic<bool> is_seen{false};  // nobody looks at the mutator any more
  std::atomic<bool> is_over{false};
};

void* CollectUntilCancelled(void* argument) {
  auto* const collecting = static_cast<Collecting*>(argument);
  const Mutator mutator(*collecting->heap);
  collecting->mutator = &internal::CurrentMutator();
  // Before the mutator goes.  pthread_cancel orders it, which the thread sanitizer does not know.
  struct Looked {
    ~Looked() { EXPECT_TRUE(is_seen); }
    const std::atomic<bool>& is_seen;
  } looked{collecting->is_seen};
  for (;;) {
    collecting->heap->Collect(CollectionKind::kMajor);
    pthread_testcancel();
  }
}

// A thread that lets others run between its stops is no thread that may end there: the next stop
// would wait for ever.
TEST(ThreadsTest, AThreadIsCancelledWhileItLetsOthersRun) {
  const auto heap = Heap::Create(Options()).value();
  for (int round = 0; round < 3; ++round) {
    Collecting collecting{heap.get()};
    std::atomic<bool> has_grown{false};
    std::thread worker([&] {
      const Mutator mutator(*heap);
      // Pauses of some milliseconds, so that turns are of some as well.
      Root<Cell> kept;
      for (long i = 0; i < 500'000; ++i) kept = make<Cell>(i, kept);
      has_grown = true;
      while (!collecting.is_over) make<Cell>(0, nullptr);
    });
    while (!has_grown) usleep(100);
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, CollectUntilCancelled, &collecting), 0);
    while (collecting.mutator == nullptr) usleep(100);
    while (collecting.mutator.load()->state != internal::MutatorState::kNative) {
    }
    collecting.is_seen = true;
    pthread_cancel(thread);  // it sleeps in its turn
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    const uint64_t before = heap->statistics().allocated_words;
    heap->Collect(CollectionKind::kMajor);
    while (heap->statistics().allocated_words == before) usleep(100);
    collecting.is_over = true;
    worker.join();
  }
}

TEST(ThreadsTest, CollectionDoesNotWaitForNativeRegions) {
  const auto heap = Heap::Create(Options()).value();
  std::atomic<bool> inside{false};
  std::atomic<bool> release{false};
  std::thread blocked([&] {
    const Mutator mutator(*heap);
    const Local<Cell> kept = make<Cell>(5, nullptr);
    {
      const NativeRegion native;
      inside = true;
      while (!release) std::this_thread::yield();
    }
    EXPECT_EQ(kept->head, 5);
    EXPECT_EQ(BuildAndSum(1000), 499500);
  });
  while (!inside) std::this_thread::yield();
  {
    const Mutator mutator(*heap);
    BuildAndSum(50000);
    heap->Collect(CollectionKind::kMajor);
  }
  release = true;
  blocked.join();
}

// Threads start and end while others collect continuously.
TEST(ThreadsTest, ExitDuringStops) {
  const auto heap = Heap::Create(Options()).value();
  std::atomic<bool> done{false};
  std::thread collector([&] {
    const Mutator mutator(*heap);
    while (!done) heap->Collect(CollectionKind::kMinor);
  });
  for (int round = 0; round < 30; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        const Mutator mutator(*heap);
        EXPECT_EQ(BuildAndSum(500), 500 * 499 / 2);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  done = true;
  collector.join();
}

// Runs `visit` on a thread of its own, attached, while this one runs without a safepoint: whatever
// stops the threads of the heap waits for it.  Returns whether the thread ended meanwhile.
template <typename Visit>
bool RunsBesideABusyThread(Heap& heap, Visit visit) {
  std::atomic<bool> has_left{false};
  std::thread visitor([&] {
    {
      const Mutator mutator(heap);
      visit();
    }
    has_left = true;
  });
  constexpr int kMostWaitsMs = 2000;
  for (int i = 0; i < kMostWaitsMs && !has_left; ++i) usleep(1000);
  const bool was_beside = has_left;
  const NativeRegion native;
  visitor.join();
  return was_beside;
}

TEST(ThreadsTest, AThreadAttachesAndDetachesBesideOneThatRuns) {
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  std::thread first([&] { const Mutator leaves_a_nursery(*heap); });
  {
    const NativeRegion native;
    first.join();
  }
  Global<Cell> mailbox;
  for (long i = 0; i < 100; ++i) {
    const auto visit = [&] { mailbox = make<Cell>(i, mailbox.get()); };
    ASSERT_TRUE(RunsBesideABusyThread(*heap, visit)) << i;
  }
  EXPECT_EQ(heap->statistics().minor_pauses[0], 0u);
  // Their objects lie in the nursery that was left until a collection moves them.
  heap->Collect(CollectionKind::kMinor);
  long i = 100;
  for (Local<Cell> cell = mailbox.get(); cell; cell = cell->tail) EXPECT_EQ(cell->head, --i);
  EXPECT_EQ(i, 0);
}

// Threads that all leave and do not come back.
TEST(ThreadsTest, NurseriesThatWereLeftAreFew) {
  constexpr int kThreads = 64;
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  std::atomic<int> attached{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const Mutator inner(*heap);
      for (int i = 0; i < 1000; ++i) make<Cell>(i, nullptr);
      ++attached;
      const NativeRegion native;
      while (attached != kThreads) usleep(100);
    });
  }
  {
    const NativeRegion native;
    for (std::thread& thread : threads) thread.join();
  }
  constexpr uint64_t kMostLeft = 8;
  EXPECT_LE(heap->statistics().young_words, kMostLeft * 1000 * 3);
  EXPECT_GE(heap->statistics().allocated_words, kThreads * 1000u * 3);
  // The objects of the others have died in a collection.
  EXPECT_GE(heap->statistics().freed_young_words, (kThreads - kMostLeft) * 1000 * 3);
}

// Blocks of a thread that has left die at the next collection, and are counted once.
TEST(ThreadsTest, SamplesOfAThreadThatHasLeftDieAtTheNextCollection) {
  struct Counts {
    std::atomic<int> born{0};
    std::atomic<int> died{0};
  } counts;
  class Counter {
   public:
    explicit Counter(Counts* counts) : counts_(counts) {}
    std::optional<int> alloc_minor(const Allocation&) { return ++counts_->born; }
    void dealloc_minor(int) { ++counts_->died; }

   private:
    Counts* counts_;
  };
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  ASSERT_TRUE(Tracker::start(1, Counter(&counts)).ok());
  for (int visit = 1; visit <= 3; ++visit) {
    std::thread other([&] {
      const Mutator inner(*heap);
      for (int i = 0; i < 10; ++i) make<Cell>(i, nullptr);
    });
    {
      const NativeRegion native;
      other.join();
    }
    EXPECT_EQ(counts.born, visit * 10);
  }
  EXPECT_EQ(counts.died, 0);
  heap->CollectFromTop(CollectionKind::kMinor);
  EXPECT_EQ(counts.died, 30);
  ASSERT_TRUE(Tracker::stop().ok());
}

// The child of a fork takes over the nursery that a thread had left before.
TEST(ThreadsTest, ForkAfterAThreadHasLeft) {
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  Global<Cell> mailbox;
  std::thread other([&] {
    const Mutator inner(*heap);
    mailbox = make<Cell>(7, nullptr);
  });
  {
    const NativeRegion native;
    other.join();
  }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool right = mailbox.get()->head == 7;
    std::thread late([&] {
      const Mutator inner(*heap);
      right = right && BuildAndSum(5000) == 5000L * 4999 / 2 && mailbox.get()->head == 7;
    });
    const NativeRegion native;
    late.join();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  {
    const NativeRegion native;
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mailbox.get()->head, 7);
}

TEST(ThreadsTest, LoopsThatDoNotAllocateStopAtSafepoints) {
  const auto heap = Heap::Create(Options()).value();
  std::atomic<bool> done{false};
  std::thread spinner([&] {
    const Mutator mutator(*heap);
    while (!done) Safepoint();
  });
  {
    const Mutator mutator(*heap);
    for (int i = 0; i < 50; ++i) heap->Collect(CollectionKind::kMinor);
  }
  done = true;
  spinner.join();
}

TEST(ThreadsTest, ObjectsArePassedThroughAGlobal) {
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  Global<Cell> mailbox;
  mailbox = make<Cell>(1, nullptr);
  for (int round = 0; round < 20; ++round) {
    std::thread other([&] {
      const Mutator inner(*heap);
      mailbox = make<Cell>(mailbox.get()->head + 1, mailbox.get());
      BuildAndSum(1000);
    });
    const NativeRegion native;
    other.join();
  }
  EXPECT_EQ(mailbox.get()->head, 21);
  EXPECT_EQ(mailbox.get()->tail->tail->head, 19);
}

TEST(ThreadsTest, ChildOfAForkGoesOn) {
  const auto heap = Heap::Create(Options()).value();
  std::atomic<bool> done{false};
  std::atomic<int> attached{0};
  std::vector<std::thread> others;
  for (int t = 0; t < 2; ++t) {
    others.emplace_back([&] {
      const Mutator mutator(*heap);
      ++attached;
      while (!done) BuildAndSum(300);
    });
  }
  // A thread that attaches is in malloc, and the address sanitizer's is not made for forks then.
  while (attached != 2) usleep(100);
  {
    const Mutator mutator(*heap);
    const Local<Cell> kept = make<Cell>(9, nullptr);
    for (int round = 0; round < 5; ++round) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const bool right = BuildAndSum(20000) == 20000L * 19999 / 2 && kept->head == 9;
        _exit(right ? 0 : 1);
      }
      int status = 0;
      {
        const NativeRegion native;
        ASSERT_EQ(waitpid(child, &status, 0), child);
      }
      EXPECT_EQ(status, 0);
      EXPECT_EQ(BuildAndSum(5000), 5000L * 4999 / 2);
    }
  }
  done = true;
  for (std::thread& thread : others) thread.join();
}

// The callbacks of two threads wait for each other.  One of them waits while the other collects.
TEST(ThreadsTest, CallbacksMayBlockOnEachOther) {
  struct Meeting {
    std::atomic<int> arrived{0};
  } meeting;
  class Meeter {
   public:
    explicit Meeter(Meeting* meeting) : meeting_(meeting) {}
    std::optional<int> alloc_minor(const Allocation& allocation) {
      if (allocation.size_words != 12) return std::nullopt;
      ++meeting_->arrived;
      while (meeting_->arrived < 2) {
        Safepoint();
        std::this_thread::yield();
      }
      return std::nullopt;
    }

   private:
    Meeting* meeting_;
  };
  const auto heap = Heap::Create(Options()).value();
  ASSERT_TRUE(Tracker::start(1, Meeter(&meeting)).ok());
  const auto work = [&] {
    const Mutator mutator(*heap);
    make_array<Cell>(11);
  };
  std::thread one(work);
  std::thread two(work);
  one.join();
  two.join();
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(meeting.arrived, 2);
}

std::jmp_buf g_jump;

void LeapFrom(int depth) {
  const Local<Cell> local = make<Cell>(depth, nullptr);
  if (local->head == 0) longjmp(g_jump, 1);  // NOLINT: longjmp is tested here
  if (depth > 0) LeapFrom(depth - 1);
}

TEST(ThreadsTest, LongjmpOverLocalsNeedsNothing) {
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  if (setjmp(g_jump) == 0) {  // NOLINT
    LeapFrom(50);
  }
  EXPECT_EQ(BuildAndSum(10000), 10000L * 9999 / 2);
}

}  // namespace
}  // namespace allomon::gc
