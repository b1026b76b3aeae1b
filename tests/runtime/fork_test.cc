// fork() while other threads attach, detach, and make and destroy heaps.  Each thread is stopped at
// each of its locks in turn.  The tests also check what a child samples.
//
// Each case runs in a process of its own, which is killed when it hangs.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/space/window.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

// The forking thread, and whether its fork has returned.
std::atomic<pid_t> g_forker{0};
std::atomic<bool> g_forked{false};
// Whether the other thread stands at its lock.
std::atomic<bool> g_stands{false};
// The number of locks and unlocks until the thread stands.  0: the thread does not stand.
thread_local int g_stand_in = 0;

// Whether the thread sleeps in the kernel: its state is the letter after the name in its stat file.
// Calls no malloc: the address sanitizer's does not hold its locks around a fork.
bool Sleeps(pid_t thread) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  char text[256] = {};
  const ssize_t length = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
  close(file);
  const char* behind_name = length > 0 ? strrchr(text, ')') : nullptr;
  return behind_name != nullptr && behind_name[2] == 'S';
}

// Runs before a thread takes or releases a mutex.  The thread continues when the fork is done, or
// when the forking thread waits for a lock that this thread holds.
void StandHereIfItIsTime() {
  if (g_stand_in == 0 || --g_stand_in != 0) return;
  g_stands = true;
  while (!g_forked && !Sleeps(g_forker)) std::this_thread::yield();
}

template <typename Function>
Function* TheirOwn(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace allomon::gc

// The two functions replace the C library's, for the whole program.  Their static variables have no
// guard, which libc++abi would lock with them.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static std::atomic<int (*)(pthread_mutex_t*)> lock{nullptr};
  if (lock == nullptr) lock = allomon::gc::TheirOwn<int(pthread_mutex_t*)>("pthread_mutex_lock");
  allomon::gc::StandHereIfItIsTime();
  return lock.load()(mutex);
}
extern "C" int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  static std::atomic<int (*)(pthread_mutex_t*)> unlock{nullptr};
  if (unlock == nullptr) {
    unlock = allomon::gc::TheirOwn<int(pthread_mutex_t*)>("pthread_mutex_unlock");
  }
  allomon::gc::StandHereIfItIsTime();
  return unlock.load()(mutex);
}

namespace allomon::gc {
namespace {

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

// Runs `body` in a process of its own.  Returns `body`'s result, or 128 plus the signal by which
// the process died: SIGALRM when it hangs.
template <typename Body>
int InAProcess(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(body());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 255;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct NoSamples {
  std::optional<int> alloc_minor(const Allocation&) { return std::nullopt; }
};

// Whether the equations of heap_statistics.h hold.
bool WordsAddUp(Heap& heap) {
  const HeapStatistics s = heap.statistics();
  return s.allocated_words ==
         s.promoted_words + s.freed_young_words + s.young_words + s.born_old_words;
}

// Does what a child must be able to do.  `limit_of_other` is the allocation limit of a thread that
// does not exist in the child.  The child must no longer write it, since the memory will be reused.
int UseInChild(Heap& heap, bool attached, std::atomic<uintptr_t>* limit_of_other) {
  std::unique_ptr<Mutator> mutator;
  if (!attached) mutator = std::make_unique<Mutator>(heap);
  if (BuildAndSum(20000) != 20000L * 19999 / 2) return 1;
  heap.Collect(CollectionKind::kMajor);
  if (!WordsAddUp(heap)) return 2;
  constexpr uintptr_t kMark = 0x12345678;
  *limit_of_other = kMark;
  if (!Tracker::start(0.5, NoSamples()).ok() || !Tracker::stop().ok()) return 3;
  if (*limit_of_other != kMark) return 4;
  Heap::Create(Options()).value();
  const NativeRegion native;
  // A thread of the child attaches too.
  int result = 5;
  std::thread([&] {
    const Mutator own(heap);
    result = BuildAndSum(1000) == 1000L * 999 / 2 ? 0 : 6;
  }).join();
  return result;
}

enum class Doing { kComesAndGoes, kMakesAndDestroysAHeap };

constexpr int kNoMoreLocks = 100;

// One thread forks while the other stands before its n-th lock or unlock.
int ForkAtLock(Doing doing, int n, bool forker_is_attached) {
  const auto heap = Heap::Create(Options()).value();
  std::unique_ptr<Mutator> mutator;
  if (forker_is_attached) mutator = std::make_unique<Mutator>(*heap);
  std::atomic<bool> done{false};
  std::atomic<std::atomic<uintptr_t>*> limit{nullptr};
  g_forker = gettid();
  std::thread other([&] {
    limit = &internal::t_window.limit;
    if (doing == Doing::kComesAndGoes) {
      g_stand_in = n;
      const Mutator own(*heap);
      BuildAndSum(100);
    } else {
      const Mutator own(*heap);
      g_stand_in = n;
      Heap::Create(Options()).value();
    }
    g_stand_in = 0;
    done = true;
  });
  while (!done && !g_stands) {
    if (forker_is_attached) Safepoint();
    std::this_thread::yield();
  }
  int result = kNoMoreLocks;
  if (g_stands) {
    const int in_child =
        InAProcess([&] { return UseInChild(*heap, forker_is_attached, limit.load()); });
    result = in_child;
  }
  g_forked = true;
  if (forker_is_attached) {
    const NativeRegion native;
    other.join();
  } else {
    other.join();
  }
  return result != 0 || WordsAddUp(*heap) ? result : 7;
}

void ForkAtEveryLock(Doing doing, bool forker_is_attached) {
  int n = 1;
  for (;; ++n) {
    const int result = InAProcess([&] { return ForkAtLock(doing, n, forker_is_attached); });
    if (result == kNoMoreLocks) break;
    EXPECT_EQ(result, 0) << "at lock or unlock " << n;
    ASSERT_LE(n, 200);
  }
  EXPECT_GT(n, 4);
  ::testing::Test::RecordProperty("locks", n);
}

TEST(ForkTest, ThreadThatComesAndGoesIsAtAnyOfItsLocks) {
  ForkAtEveryLock(Doing::kComesAndGoes, false);
}
TEST(ForkTest, ThreadThatComesAndGoesIsAtAnyOfItsLocksAndTheForkerIsAttached) {
  ForkAtEveryLock(Doing::kComesAndGoes, true);
}
TEST(ForkTest, ThreadThatMakesAndDestroysAnotherHeapIsAtAnyOfItsLocks) {
  ForkAtEveryLock(Doing::kMakesAndDestroysAHeap, false);
}
TEST(ForkTest, ThreadThatMakesAndDestroysAnotherHeapIsAtAnyOfItsLocksAndTheForkerIsAttached) {
  ForkAtEveryLock(Doing::kMakesAndDestroysAHeap, true);
}

// Two threads collect each other's heap.  Each waits for a world whose thread is waiting.
TEST(ForkTest, ThreadsThatCollectEachOthersHeapsDoNotWaitForEver) {
  EXPECT_EQ(InAProcess([] {
              const std::unique_ptr<Heap> heaps[] = {Heap::Create(Options()).value(),
                                                     Heap::Create(Options()).value()};
              std::atomic<int> attached{0};
              const auto work = [&](int own) {
                const Mutator mutator(*heaps[own]);
                ++attached;
                while (attached < 2) std::this_thread::yield();
                for (int i = 0; i < 300; ++i) {
                  heaps[1 - own]->Collect(CollectionKind::kMinor);
                  heaps[1 - own]->statistics();
                }
              };
              std::thread one(work, 0);
              std::thread two(work, 1);
              one.join();
              two.join();
              return 0;
            }),
            0);
}

struct CountingReports {
  std::optional<int> alloc_minor(const Allocation&) {
    ++*reported;
    return std::nullopt;
  }
  uint64_t* reported;
};

// Returns, as a number, which of the next 5,000 cells are sampled.
uint64_t SampledAmongTheNext(const uint64_t& reported) {
  uint64_t pattern = 0;
  for (int i = 0; i < 5000; ++i) {
    const uint64_t before = reported;
    make<Cell>(i, nullptr);
    pattern = pattern * 31 + (reported != before ? 1 : 0);
  }
  return pattern;
}

// Forks a child now and returns the cells that it samples.
uint64_t SampledByAChild(const uint64_t& reported, bool in_native) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  std::unique_ptr<NativeRegion> native;
  if (in_native) native = std::make_unique<NativeRegion>();
  const pid_t child = fork();
  native.reset();
  if (child == 0) {
    alarm(10);
    const uint64_t pattern = SampledAmongTheNext(reported);
    _exit(write(ends[1], &pattern, sizeof(pattern)) == sizeof(pattern) ? 0 : 1);
  }
  uint64_t pattern = 0;
  close(ends[1]);
  if (read(ends[0], &pattern, sizeof(pattern)) != sizeof(pattern)) pattern = 0;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return pattern;
}

// One of 200 cells is sampled, so different streams do not have equal patterns.
TEST(ForkTest, ChildrenSampleOtherWordsThanTheirParentAndEachOther) {
  EXPECT_EQ(InAProcess([] {
              const auto heap = Heap::Create(Options()).value();
              const Mutator mutator(*heap);
              uint64_t reported = 0;
              StartOptions options;
              options.seed = 5;
              options.callstack_size = 0;
              EXPECT_TRUE(Tracker::start(0.002, CountingReports{&reported}, options).ok());
              make<Cell>(1, nullptr);  // the stream begins here
              const uint64_t patterns[] = {
                  SampledByAChild(reported, false), SampledByAChild(reported, false),
                  SampledByAChild(reported, true), SampledAmongTheNext(reported)};
              for (int i = 0; i < 4; ++i) {
                EXPECT_NE(patterns[i], 0u);
                for (int j = 0; j < i; ++j) EXPECT_NE(patterns[i], patterns[j]) << j << ", " << i;
              }
              EXPECT_TRUE(Tracker::stop().ok());
              return ::testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
}

struct CountingDeaths {
  std::optional<char> alloc_minor(const Allocation&) { return 0; }
  void dealloc_minor(char) { ++*deaths; }
  std::atomic<int>* deaths;
};

// Forks while another thread has made `cells` that no collection has seen.  Returns how many of
// them die in the child.
int DeathsInAChild(int cells, const std::atomic<int>& deaths, Heap& heap) {
  std::atomic<bool> made{false}, forked{false};
  std::thread other([&] {
    const Mutator mutator(heap);
    for (int i = 0; i < cells; ++i) make<Cell>(i, nullptr);
    const NativeRegion native;
    made = true;
    while (!forked) std::this_thread::yield();
  });
  while (!made) Safepoint();
  const pid_t child = fork();
  if (child == 0) {
    Safepoint();
    _exit(deaths);
  }
  forked = true;
  const NativeRegion native;
  other.join();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkTest, BlocksThatOnlyALostThreadKnewOfDieInTheChild) {
  EXPECT_EQ(InAProcess([] {
              const auto heap = Heap::Create(Options()).value();
              const Mutator mutator(*heap);
              std::atomic<int> deaths{0};
              EXPECT_TRUE(Tracker::start(1, CountingDeaths{&deaths}).ok());
              EXPECT_EQ(DeathsInAChild(40, deaths, *heap), 40);
              EXPECT_TRUE(Tracker::stop().ok());
              return ::testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
}

}  // namespace
}  // namespace allomon::gc
