// References in very many frames, and stacks whose limits change.
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

HeapOptions Options(bool verify) {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.growth_floor_bytes = 256 << 10;
  options.verify = verify;
  return options;
}

// Runs on a thread with a stack of `stack_bytes`.
struct DeepThread {
  template <typename Body>
  DeepThread(size_t stack_bytes, Body* body) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, stack_bytes), 0);
    const auto run = [](void* argument) -> void* {
      (*static_cast<Body*>(argument))();
      return nullptr;
    };
    EXPECT_EQ(pthread_create(&id, &attributes, run, body), 0);
    pthread_attr_destroy(&attributes);
  }
  ~DeepThread() { pthread_join(id, nullptr); }
  pthread_t id = {};
};
constexpr size_t kDeepBytes = size_t{512} << 20;

struct Dive {
  long garbage = 20'000;  // objects made at the bottom
  int major_rounds = 2;
  long wrong = 0;
  uint64_t minor_collections = 0;
};

__attribute__((noinline)) void AtBottom(Heap* heap, Dive* dive) {
  const uint64_t before = heap->statistics().minor_collections;
  for (int round = 0; round < dive->major_rounds; ++round) {
    for (int minor = 0; minor < 3; ++minor) {
      for (long i = 0; i < dive->garbage; ++i) make<Cell>(i, nullptr);
      heap->Collect(CollectionKind::kMinor);
    }
    heap->Collect(CollectionKind::kMajor);
  }
  dive->minor_collections = heap->statistics().minor_collections - before;
}

// Only this frame refers to its object.  On the way back, every third frame stores a younger object
// into it, when it is old in its place.
__attribute__((noinline)) long Recurse(Heap* heap, Dive* dive, long frame) {
  const Local<Cell> own = make<Cell>(frame, make<Cell>(-frame, nullptr));
  long below = 0;
  if (frame == 0) {
    AtBottom(heap, dive);
  } else {
    below = Recurse(heap, dive, frame - 1) + 1;
  }
  dive->wrong += own->head != frame || own->tail->head != -frame || below != frame;
  if (frame % 3 == 0) {
    own->tail = make<Cell>(frame, own);
    make<Cell>(0, nullptr);
    dive->wrong += own->tail->head != frame || own->tail->tail != own;
  }
  return below;
}

long RunDive(Heap* heap, Dive dive, long frames) {
  auto body = [&] {
    const Mutator mutator(*heap);
    Recurse(heap, &dive, frames);
  };
  { const DeepThread thread(kDeepBytes, &body); }
  EXPECT_GT(dive.minor_collections, 6u);
  return dive.wrong;
}

TEST(DeepRecursionTest, TenThousandFramesFindTheirObjects) {
  const auto heap = Heap::Create(Options(true)).value();
  EXPECT_EQ(RunDive(heap.get(), Dive(), 10'000), 0);
}

#if defined(__SANITIZE_THREAD__)
constexpr long kManyFrames = 50'000;  // the sanitizer has a stack of its own, of 65,536 entries
#else
constexpr long kManyFrames = 100'000;
#endif

TEST(DeepRecursionTest, HundredThousandFramesFindTheirObjects) {
  const auto heap = Heap::Create(Options(true)).value();
  EXPECT_EQ(RunDive(heap.get(), Dive(), kManyFrames), 0);
}

// Objects that stayed between deep frames are found dead, and the words add up.
TEST(DeepRecursionTest, HeapIsEmptyBehindADive) {
  const auto heap = Heap::Create(Options(true)).value();
  Dive dive;
  auto body = [&] {
    const Mutator mutator(*heap);
    for (const long frames : {30'000, 10, 20'000}) Recurse(heap.get(), &dive, frames);
    for (int i = 0; i < 3; ++i) heap->CollectFromTop(CollectionKind::kMajor);
    const HeapStatistics s = heap->statistics();
    EXPECT_EQ(s.old_words, 0u);
    EXPECT_EQ(s.young_words, 0u);
    EXPECT_EQ(s.allocated_words, s.promoted_words + s.freed_young_words);
    EXPECT_EQ(s.promoted_words, s.freed_old_words);
  };
  { const DeepThread thread(kDeepBytes, &body); }
  EXPECT_EQ(dive.wrong, 0);
}

#ifndef __SANITIZE_THREAD__  // its thread storage, above each thread's frames, counts as stack
// The nursery grows with the stack, so the scans of deep frames are few.
TEST(DeepRecursionTest, ScansStayInProportionToAllocations) {
  uint64_t collections[2] = {};
  for (const int i : {0, 1}) {
    const auto heap = Heap::Create(Options(false)).value();
    Dive dive;
    dive.garbage = 300'000;
    auto body = [&] {
      const Mutator mutator(*heap);
      Recurse(heap.get(), &dive, i == 0 ? 10 : 20'000);
    };
    { const DeepThread thread(kDeepBytes, &body); }
    EXPECT_EQ(dive.wrong, 0);
    collections[i] = dive.minor_collections;
  }
  EXPECT_LT(collections[1], collections[0] / 2);
}
#endif

TEST(DeepRecursionTest, TwoThreadsDiveWhileAThirdCollects) {
  const auto heap = Heap::Create(Options(false)).value();
  std::atomic<int> diving{2};
  std::atomic<int> rounds{0};
  Dive dives[2];
  auto dive = [&](int i) {
    {
      const Mutator mutator(*heap);
      // Both threads are deep in the recursion while the other thread collects.
      Recurse(heap.get(), &dives[i], i == 0 ? 40'000 : 15'000);
      while (rounds < 4) Safepoint();
    }
    --diving;
  };
  auto first = [&] { dive(0); };
  auto second = [&] { dive(1); };
  auto collects = [&] {
    const Mutator mutator(*heap);
    const Local<Cell> own = make<Cell>(5, make<Cell>(6, nullptr));
    for (; diving != 0; ++rounds) {
      heap->Collect(rounds % 4 == 3 ? CollectionKind::kMajor : CollectionKind::kMinor);
      EXPECT_EQ(own->head + own->tail->head, 11);
    }
  };
  { const DeepThread a(kDeepBytes, &first), b(kDeepBytes, &second), c(kDeepBytes, &collects); }
  EXPECT_EQ(dives[0].wrong + dives[1].wrong, 0);
}

// The innermost frame is in a NativeRegion while another thread collects.
__attribute__((noinline)) long RecurseToNative(long frame, std::atomic<int>* state) {
  const Local<Cell> own = make<Cell>(frame, make<Cell>(-frame, nullptr));
  if (frame == 0) {
    const NativeRegion native;
    *state = 1;
    while (*state != 2) sched_yield();
    return own->head != 0;
  }
  const long wrong = RecurseToNative(frame - 1, state);
  return wrong + (own->head != frame || own->tail->head != -frame);
}

TEST(DeepRecursionTest, FramesAboveANativeRegionAreSeenByOthers) {
  const auto heap = Heap::Create(Options(true)).value();
  std::atomic<int> state{0};
  long wrong = -1;
  auto body = [&] {
    const Mutator mutator(*heap);
    wrong = RecurseToNative(20'000, &state);
  };
  {
    const DeepThread thread(kDeepBytes, &body);
    while (state != 1) sched_yield();
    for (int i = 0; i < 3; ++i) heap->Collect(CollectionKind::kMinor);
    heap->Collect(CollectionKind::kMajor);
    state = 2;
  }
  EXPECT_EQ(wrong, 0);
}

// A program may raise the limit while it runs (setrlimit()); then other threads' stacks may lie
// where the first thread's could have grown.
void UseThreadsWithoutALimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_STACK, &limit);
  const auto heap = Heap::Create(Options(true)).value();
  const long wrong = RunDive(heap.get(), Dive(), 1000);
  Dive own;
  const Mutator mutator(*heap);
  Recurse(heap.get(), &own, 1000);
  _exit(wrong + own.wrong == 0 ? 0 : 1);
}

TEST(DeepRecursionDeathTest, LimitOfTheFirstStackIsRaisedWhileTheProgramRuns) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(UseThreadsWithoutALimit(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace allomon::gc

#if defined(__SANITIZE_THREAD__)
// The sanitizer's detector of deadlocks keeps a copy of the whole call stack for each object that a
// reference is stored into: 300 KiB at a depth of 40,000 frames.  All other tests use the same
// locks with the detector.
extern "C" const char* __tsan_default_options() { return "detect_deadlocks=0"; }
#endif
