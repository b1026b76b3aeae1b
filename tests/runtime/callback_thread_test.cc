// Callbacks that end their thread, fork, or block while other threads continue; and threads that
// are cancelled.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
#include "runtime/internal/collect/heap_core.h"
#include "tests/runtime/lists.h"
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
  options.verify = true;
  return options;
}

long BuildAndSum(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
  long sum = 0;
  for (Local<Cell> cell = list; cell; cell = cell->tail) sum += cell->head;
  return sum;
}

enum class When { kNever, kAlloc, kPromote, kDealloc };

struct Exits {
  Heap* heap = nullptr;
  std::atomic<When> when{When::kNever};
  std::atomic<int> allocs{0}, promotes{0}, deallocs{0}, code_behind{0};

  void At(When now) {
    if (when == now) {
      when = When::kNever;
      pthread_exit(nullptr);
    }
  }
};

class ExitingTracker {
 public:
  explicit ExitingTracker(Exits* exits) : exits_(exits) {}
  std::optional<int> alloc_minor(const Allocation&) {
    exits_->At(When::kAlloc);
    return ++exits_->allocs;
  }
  std::optional<int> promote(int value) {
    ++exits_->promotes;
    exits_->At(When::kPromote);
    return value;
  }
  void dealloc_minor(int) { Die(); }
  void dealloc_major(int) { Die(); }

 private:
  void Die() {
    ++exits_->deallocs;
    exits_->At(When::kDealloc);
  }
  Exits* exits_;
};

// Makes three objects.  One is promoted, all die.
void* Work(void* argument) {
  Exits* exits = static_cast<Exits*>(argument);
  const Mutator mutator(*exits->heap);
  {
    const Root<Cell> kept = make<Cell>(1, nullptr);
    make<Cell>(2, nullptr);
    make<Cell>(3, nullptr);
    exits->heap->CollectFromTop(CollectionKind::kMinor);
  }
  exits->heap->CollectFromTop(CollectionKind::kMajor);
  ++exits->code_behind;
  return nullptr;
}

class ExitInCallbackTest : public ::testing::TestWithParam<When> {};

TEST_P(ExitInCallbackTest, ThreadEndsAloneAndSamplingGoesOn) {
  const auto heap = Heap::Create(Options()).value();
  Exits exits;
  exits.heap = heap.get();
  const auto id = Tracker::start(1, ExitingTracker(&exits));
  ASSERT_TRUE(id.ok());
  const auto run = [&exits] {
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, Work, &exits), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
  };
  exits.when = GetParam();
  run();
  EXPECT_EQ(exits.code_behind, 0) << "code behind the callback ran";
  EXPECT_EQ(exits.when, When::kNever);

  // The heap works, and the objects of the ended thread die like any others.
  const int before = exits.allocs;
  run();
  EXPECT_EQ(exits.code_behind, 1);
  EXPECT_EQ(exits.allocs, before + 3);
  heap->CollectFromTop(CollectionKind::kMajor);
  {
    const Mutator mutator(*heap);
    Safepoint();
    EXPECT_EQ(BuildAndSum(10000), 10000L * 9999 / 2);
    heap->CollectFromTop(CollectionKind::kMajor);
    // The block whose promotion callback did not return is no longer followed.
    EXPECT_EQ(exits.allocs, exits.deallocs + (GetParam() == When::kPromote ? 1 : 0));
    EXPECT_FALSE(heap->core().AnyDue());
  }
  EXPECT_EQ(Tracker::statistics(*id)->callback_exceptions, 0u);
  ASSERT_TRUE(Tracker::stop().ok());
  // No pin remained, so the tracker's slot can be used again.
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Tracker::start(1, ExitingTracker(&exits)).ok());
    ASSERT_TRUE(Tracker::stop().ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Callbacks, ExitInCallbackTest,
                         ::testing::Values(When::kAlloc, When::kPromote, When::kDealloc));

// Each callback forks once, while another thread allocates.
struct Forks {
  std::atomic<bool> armed{false};
  std::atomic<pid_t> child{-1};
};

class ForkingTracker {
 public:
  explicit ForkingTracker(Forks* forks) : forks_(forks) {}
  std::optional<int> alloc_minor(const Allocation& a) { return Fork(a.size_words == 12); }
  std::optional<int> promote(int wanted) { return Fork(wanted == 1); }
  void dealloc_minor(int) {}
  void dealloc_major(int wanted) { Fork(wanted == 1); }

 private:
  int Fork(bool wanted) {
    if (wanted && forks_->armed.exchange(false)) forks_->child = fork();
    return wanted ? 1 : 0;
  }
  Forks* forks_;
};

TEST(ForkInCallbackTest, BothProcessesGoOn) {
  const auto heap = Heap::Create(Options()).value();
  Forks forks;
  ASSERT_TRUE(Tracker::start(1, ForkingTracker(&forks)).ok());
  std::atomic<bool> done{false};
  const auto goes_on = [&heap] {
    void* block = malloc(100);
    const bool good =
        block != nullptr && BuildAndSum(3000) == 3000L * 2999 / 2 && Tracker::is_sampling();
    free(block);
    heap->Collect(CollectionKind::kMajor);
    return good;
  };
  std::thread other([&] {
    const Mutator mutator(*heap);
    while (!done) {
      BuildAndSum(100);
      // This thread found the block dead and forked, so it is the child's only thread.
      if (forks.child == 0) _exit(goes_on() ? 0 : 1);
    }
  });
  const auto is_good = [&goes_on](Handle<Array<Cell>> kept) {
    return kept->length() == 11 && goes_on() && kept->length() == 11;
  };
  {
    const Mutator mutator(*heap);
    for (int where = 0; where < 3; ++where) {
      forks.child = -1;
      forks.armed = where == 0;
      Local<Array<Cell>> block = make_array<Cell>(11);
      const Local<Array<Cell>> kept = make_array<Cell>(11);
      if (where == 1) forks.armed = true;
      heap->Collect(CollectionKind::kMinor);
      if (where == 2) forks.armed = true;
      block = nullptr;
      heap->Collect(CollectionKind::kMajor);
      while (forks.child == -1) heap->Collect(CollectionKind::kMajor);
      if (forks.child == 0) _exit(is_good(kept) ? 0 : 1);
      int status = -1;
      {
        const NativeRegion native;
        ASSERT_EQ(waitpid(forks.child, &status, 0), forks.child);
      }
      EXPECT_EQ(status, 0) << "callback " << where;
      EXPECT_TRUE(is_good(kept));
    }
  }
  done = true;
  other.join();
  ASSERT_TRUE(Tracker::stop().ok());
}

// OCaml's moved_while_blocking: a promote callback blocks while another thread's blocks are born,
// promoted and freed.  The tables grow, shrink and move during the callback.
struct Blocking {
  std::atomic<bool> is_blocked{false};
  std::atomic<bool> release{false};
  std::atomic<int> allocs{0}, promotes{0}, deallocs{0}, wrong{0};
};

class BlockingTracker {
 public:
  explicit BlockingTracker(Blocking* blocking) : blocking_(blocking) {}
  std::optional<long> alloc_minor(const Allocation& a) {
    ++blocking_->allocs;
    return static_cast<long>(a.size_words);
  }
  std::optional<long> promote(long words) {
    ++blocking_->promotes;
    if (words == 12) {
      blocking_->is_blocked = true;
      const NativeRegion native;
      while (!blocking_->release) std::this_thread::yield();
    }
    return -words;
  }
  void dealloc_minor(long words) { Die(words > 0); }
  void dealloc_major(long words) { Die(words < 0); }

 private:
  void Die(bool right) {
    ++blocking_->deallocs;
    blocking_->wrong += !right;
  }
  Blocking* blocking_;
};

TEST(MovedWhileBlockingTest, TablesMayChangeUnderACallback) {
  const auto heap = Heap::Create(Options()).value();
  Blocking blocking;
  ASSERT_TRUE(Tracker::start(1, BlockingTracker(&blocking)).ok());
  std::thread blocked([&] {
    const Mutator mutator(*heap);
    const Root<Array<Cell>> kept = make_array<Cell>(11);
    heap->CollectFromTop(CollectionKind::kMinor);  // blocks in promote
    EXPECT_EQ(kept->length(), 11u);
  });
  while (!blocking.is_blocked) std::this_thread::yield();
  {
    const Mutator mutator(*heap);
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(BuildAndSum(20000), 20000L * 19999 / 2);
      heap->CollectFromTop(CollectionKind::kMajor);
    }
    // All blocks of the other thread are dead.  The blocked one is not.
    EXPECT_EQ(blocking.deallocs, 100000);
    blocking.release = true;
    const NativeRegion native;
    blocked.join();
  }
  {
    const Mutator mutator(*heap);
    heap->CollectFromTop(CollectionKind::kMajor);
  }
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(blocking.deallocs, blocking.allocs);
  EXPECT_EQ(blocking.wrong, 0);
}

// A cancelled thread makes a heap, writes its snapshot and destroys it: the thread does not end
// inside these calls.

std::string Path(const char* name) { return std::string(getenv("TEST_TMPDIR")) + "/" + name; }

struct Progress {
  bool has_marked = false;
  bool has_snapshot = false;
  bool has_sites = false;
  bool is_done = false;
};

void UseHeap(Progress* progress) {
  const auto heap = Heap::Create(InBackground()).value();
  const Mutator mutator(*heap);
  const Root<gc::Cell> list = MakeList(20000);
  internal::CollectForGrowth(heap->core(), internal::CurrentMutator());
  progress->has_marked = heap->core().cycle.is_active();
  progress->has_snapshot = heap->WriteSnapshot(Path("cancelled.heapsnapshot")).ok();
  progress->has_sites =
      SaveSites(Path("cancelled.sites")).ok() && LoadSites(Path("cancelled.sites")).ok();
}

void* UseHeapWhileCancelled(void* progress) {
  pthread_cancel(pthread_self());
  UseHeap(static_cast<Progress*>(progress));
  static_cast<Progress*>(progress)->is_done = true;
  pthread_testcancel();
  return nullptr;
}

TEST(CancelledThreadTest, SavesAndEndsItsHeap) {
  Progress progress;
  pthread_t thread;
  void* result = nullptr;
  ASSERT_EQ(pthread_create(&thread, nullptr, UseHeapWhileCancelled, &progress), 0);
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_TRUE(progress.has_marked);
  EXPECT_TRUE(progress.has_snapshot);
  EXPECT_TRUE(progress.has_sites);
  EXPECT_TRUE(progress.is_done);
  for (const char* name : {"cancelled.heapsnapshot", "cancelled.sites"}) {
    EXPECT_EQ(access(Path(name).c_str(), R_OK), 0) << name;
  }
}

}  // namespace
}  // namespace allomon::gc
