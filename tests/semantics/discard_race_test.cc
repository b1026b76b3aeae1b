// Discard destroys a value while the block that carries it dies on another thread.
#include <atomic>
#include <thread>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

// A value whose destruction waits until the test releases it.
struct Gate {
  std::atomic<bool> destroying{false};
  std::atomic<bool> go_on{false};
  std::atomic<int> values{0};
};

struct SlowToDie {
  explicit SlowToDie(Gate* g) : gate(g) { ++gate->values; }
  SlowToDie(SlowToDie&& other) noexcept : gate(other.gate) { other.gate = nullptr; }
  ~SlowToDie() {
    if (gate == nullptr) return;
    gate->destroying = true;
    while (!gate->go_on) std::this_thread::yield();
    --gate->values;
  }
  Gate* gate;
};

struct GateTracker {
  std::optional<SlowToDie> alloc_major(const Allocation&) { return SlowToDie(gate); }
  Gate* gate;
};

struct Counting {
  std::optional<uint64_t> alloc_major(const Allocation& allocation) {
    return allocation.size_bytes;
  }
  void dealloc_major(uint64_t size) { wrong->fetch_add(size == 777 ? 0 : 1); }
  std::atomic<int>* wrong;
};

// If the entry were released at once, the next block would use it while the old value is still
// being destroyed in it.
TEST(DiscardRaceTest, EntryIsNotReusedWhileItsValueIsDestroyed) {
  Gate gate;
  ASSERT_TRUE(Tracker::start(1, GateTracker{&gate}).ok());
  void* block = SamplingMalloc(8);
  std::thread stopper([] { ASSERT_TRUE(Tracker::stop().ok()); });
  while (!gate.destroying) std::this_thread::yield();
  SamplingFree(block);

  std::atomic<int> wrong{0};
  ASSERT_TRUE(Tracker::start(1, Counting{&wrong}).ok());
  void* reusing = SamplingMalloc(777);
  gate.go_on = true;
  stopper.join();
  SamplingFree(reusing);
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(gate.values, 0);
}

// Threads allocate and free at full speed while trackers start and stop: every value is consumed
// exactly once, by dealloc or by discard.
struct Consumed {
  std::atomic<int64_t> made{0};
  std::atomic<int64_t> gone{0};
};

struct Token {
  explicit Token(Consumed* c) : consumed(c) { ++consumed->made; }
  Token(Token&& other) noexcept : consumed(other.consumed) { other.consumed = nullptr; }
  ~Token() {
    if (consumed != nullptr) ++consumed->gone;
  }
  Consumed* consumed;
};

struct TokenTracker {
  std::optional<Token> alloc_major(const Allocation&) { return Token(consumed); }
  void dealloc_major(Token) {}
  Consumed* consumed;
};

TEST(DiscardRaceTest, EveryValueIsConsumedOnceWhileTrackersComeAndGo) {
  Consumed consumed;
  std::atomic<bool> stop{false};
  std::thread workers[3];
  for (std::thread& worker : workers) {
    worker = std::thread([&stop] {
      void* kept[16] = {};
      for (unsigned i = 0; !stop; ++i) {
        SamplingFree(kept[i % 16]);
        kept[i % 16] = SamplingMalloc(i % 200);
      }
      for (void* block : kept) SamplingFree(block);
    });
  }
  for (int round = 0; round < 300; ++round) {
    const auto id = Tracker::start(0.5, TokenTracker{&consumed});
    ASSERT_TRUE(id.ok());
    // The workers must already be allocating, however busy the machine is.
    const int64_t made = consumed.made;
    while (consumed.made < made + 10) std::this_thread::yield();
    if (round % 2 == 0) {
      ASSERT_TRUE(Tracker::stop().ok());
    } else {
      ASSERT_TRUE(Tracker::stop(StopMode::kKeepTracking).ok());
      std::this_thread::yield();
      ASSERT_TRUE(Tracker::discard(*id).ok());
    }
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(consumed.made, consumed.gone);
}

}  // namespace
}  // namespace allomon
