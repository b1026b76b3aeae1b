// A HeapListener is told of each collection from start to end, with the words it promoted, and of
// threads for which a collection waits.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tracker/base/thread_id.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

// Only one thread at a time collects, so nothing here needs a lock.  The thread sanitizer checks
// this.
class Recorder : public HeapListener {
 public:
  void OnCollectionStart(CollectionKind kind) override {
    ok &= !inside;
    inside = true;
    kind_ = kind;
    promotions_ = 0;
  }
  void OnPromotion(uint64_t words) override {
    ok &= inside;
    ++promotions_;
    promoted_words += words;
  }
  void OnGrowth(uint64_t old_space_bytes) override {
    ++growths;
    ok &= old_space_bytes % (1 << 20) == 0;
    if (old_space_bytes > peak_bytes) peak_bytes = old_space_bytes;
  }
  void OnCollectionEnd(CollectionKind kind, uint64_t pause_ns) override {
    ok &= inside && kind == kind_ && promotions_ == 1;
    inside = false;
    ++(kind == CollectionKind::kMinor ? minors : majors);
    total_pause_ns += pause_ns;
    if (pause_ns > longest_pause_ns) longest_pause_ns = pause_ns;
  }

  bool ok = true;  // whether the order was right so far
  bool inside = false;
  uint64_t minors = 0, majors = 0, growths = 0;
  uint64_t promoted_words = 0, peak_bytes = 0, total_pause_ns = 0, longest_pause_ns = 0;

 private:
  CollectionKind kind_ = CollectionKind::kMinor;
  int promotions_ = 0;
};

void Build(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
}

uint64_t Sum(const uint64_t (&pauses)[HeapStatistics::kPauseBuckets]) {
  uint64_t sum = 0;
  for (const uint64_t count : pauses) sum += count;
  return sum;
}

TEST(ListenerTest, EventsAreOrderedAndAddUpToTheStatistics) {
  Recorder recorder;
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.growth_floor_bytes = 256 << 10;
  options.listener = &recorder;
  const auto heap = Heap::Create(options).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&heap] {
      const Mutator mutator(*heap);
      for (int i = 0; i < 5; ++i) Build(100000);
      heap->CollectFromTop(CollectionKind::kMajor);
      heap->CollectFromTop(CollectionKind::kMinor);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const HeapStatistics s = heap->statistics();
  EXPECT_TRUE(recorder.ok);
  EXPECT_FALSE(recorder.inside);
  EXPECT_EQ(recorder.minors + recorder.majors, s.minor_collections);
  EXPECT_EQ(recorder.majors, s.major_collections);
  EXPECT_GE(recorder.majors, 3u);
  EXPECT_EQ(recorder.promoted_words, s.promoted_words);
  EXPECT_GT(recorder.growths, 1u);
  EXPECT_EQ(recorder.peak_bytes, s.peak_old_space_bytes);
  EXPECT_EQ(recorder.total_pause_ns, s.total_pause_ns);
  EXPECT_EQ(recorder.longest_pause_ns, s.longest_pause_ns);
  EXPECT_EQ(Sum(s.minor_pauses), recorder.minors);
  EXPECT_EQ(Sum(s.major_pauses), recorder.majors);
}

// Computes without a safepoint until somebody has noticed.
class LateThread {
 public:
  LateThread(Heap& heap, std::function<bool()> noticed)
      : thread_([this, &heap, noticed] {
          const Mutator mutator(heap);
          thread_id_ = allomon::internal::OwnThreadId();
          while (!noticed()) std::this_thread::yield();
        }) {
    const NativeRegion native;
    while (thread_id_ == 0) std::this_thread::yield();
  }
  ~LateThread() {
    const NativeRegion native;  // the thread stops the world to leave it
    thread_.join();
  }
  uint32_t id() const { return thread_id_; }

 private:
  std::atomic<uint32_t> thread_id_{0};
  std::thread thread_;
};

struct LateRecorder : HeapListener {
  void OnLateThread(uint32_t thread_id, uint64_t waited_ns) override {
    last_waited_ns = waited_ns;
    ++times;
    late = thread_id;
  }
  uint64_t last_waited_ns = 0, times = 0;
  std::atomic<uint32_t> late{0};
};

// The late thread stands only after it was named, so without the notice nothing would end.
TEST(ListenerTest, ThreadThatComesLateIsNamedOnceAStop) {
  LateRecorder recorder;
  HeapOptions options;
  options.listener = &recorder;
  ASSERT_TRUE(options.Parse("late=20").ok());
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  for (uint64_t stops = 1; stops <= 3; ++stops) {
    recorder.late = 0;
    const LateThread late(*heap, [&] { return recorder.late != 0; });
    heap->Collect(CollectionKind::kMinor);
    EXPECT_EQ(recorder.late, late.id());
    EXPECT_EQ(recorder.times, stops);
    EXPECT_GE(recorder.last_waited_ns, uint64_t{20} * 1000 * 1000);
  }
  EXPECT_GE(heap->statistics().longest_stop_ns, uint64_t{20} * 1000 * 1000);
}

// Without a listener a line says so, once for each thread.
TEST(ListenerTest, ThreadThatComesLateIsNamedInALine) {
  HeapOptions options;
  options.late_thread_ms = 20;
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  std::atomic<int> stops{0};
  ::testing::internal::CaptureStderr();
  uint32_t id = 0;
  {
    const LateThread late(*heap, [&] {
      while (internal::t_window.limit.load(std::memory_order_relaxed) != 0 && stops != 2)
        std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      Safepoint();
      return stops == 2;
    });
    id = late.id();
    for (; stops < 2; ++stops) heap->Collect(CollectionKind::kMinor);
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("for thread " + std::to_string(id)), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

// The exact numbers of a program whose every allocation is known.
TEST(StatisticsTest, EveryWordIsCounted) {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  EXPECT_EQ(heap->statistics().allocated_words, 0u);
  Root<Cell> kept = make<Cell>(1, nullptr);  // 3 words with its header
  make<Cell>(2, nullptr);
  Root<Bytes> bytes = make_bytes(9);                 // header, length, two words of bytes
  Root<Array<Cell>> large = make_array<Cell>(2000);  // 2002 words; born old
  HeapStatistics s = heap->statistics();
  EXPECT_EQ(s.allocated_words, 3u + 3 + 4 + 2002);
  EXPECT_EQ(s.young_words, 10u);
  EXPECT_EQ(s.born_old_words, 2002u);
  heap->CollectFromTop(CollectionKind::kMinor);
  s = heap->statistics();
  EXPECT_EQ(s.young_words, 0u);
  EXPECT_EQ(s.promoted_words, 7u);
  EXPECT_EQ(s.freed_young_words, 3u);
  EXPECT_EQ(s.old_words, 2009u);
  bytes = nullptr;
  large = nullptr;
  heap->CollectFromTop(CollectionKind::kMajor);
  s = heap->statistics();
  EXPECT_EQ(s.freed_old_words, 2006u);
  EXPECT_EQ(s.old_words, 3u);
  EXPECT_EQ(s.minor_collections, 2u);
  EXPECT_EQ(s.major_collections, 1u);
  EXPECT_EQ(kept->head, 1);
}

}  // namespace
}  // namespace allomon::gc
