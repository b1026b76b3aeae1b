// Tests the actions that callbacks may take, and the treatment of their return values.
#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"
#include "tracker/heap_client.h"

namespace allomon {
namespace {

using ::allomon::testing::Ledger;
using ::allomon::testing::LedgerTracker;

TEST(CallbackTest, AllocationsInsideACallbackAreNotSampled) {
  struct Nested {
    std::atomic<int> allocs{0};
  } nested;
  class Allocating {
   public:
    explicit Allocating(Nested* nested) : nested_(nested) {}
    std::optional<int> alloc_major(const Allocation&) {
      ++nested_->allocs;
      for (int i = 0; i < 100; ++i) SamplingFree(SamplingMalloc(1000));
      return 1;
    }
    void dealloc_major(int) {
      for (int i = 0; i < 100; ++i) SamplingFree(SamplingMalloc(1000));
    }
    Nested* nested_;
  };
  ASSERT_TRUE(Tracker::start(1, Allocating(&nested)).ok());
  for (int i = 0; i < 10; ++i) SamplingFree(SamplingMalloc(8));
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(nested.allocs, 10);
}

// The callback holds a plain mutex and frees a tracked block: running that block's dealloc callback
// at once would lock the mutex twice.
TEST(CallbackTest, DeallocDueInsideACallbackRunsAfterIt) {
  struct State {
    std::mutex mutex;
    void* to_free = nullptr;
    std::vector<int> order;
  } state;
  class Freeing {
   public:
    explicit Freeing(State* state) : state_(state) {}
    std::optional<int> alloc_major(const Allocation& allocation) {
      std::lock_guard<std::mutex> hold(state_->mutex);
      if (state_->to_free != nullptr) {
        SamplingFree(state_->to_free);
        state_->to_free = nullptr;
        state_->order.push_back(1);
      }
      return static_cast<int>(allocation.size_bytes);
    }
    void dealloc_major(int size) {
      std::lock_guard<std::mutex> hold(state_->mutex);
      state_->order.push_back(size);
    }
    State* state_;
  };
  ASSERT_TRUE(Tracker::start(1, Freeing(&state)).ok());
  void* first = SamplingMalloc(100);
  state.to_free = first;
  void* second = SamplingMalloc(200);
  EXPECT_EQ(state.order, (std::vector<int>{1, 100}));
  SamplingFree(second);
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(state.order, (std::vector<int>{1, 100, 200}));
}

// The move constructor of the value throws when the value is passed to the callback.
TEST(CallbackTest, ThrowingMoveOfAValueIsCaughtAndCounted) {
  struct Armed {
    explicit Armed(bool* armed) : armed(armed) {}
    Armed(Armed&& other) noexcept(false) : armed(other.armed) {
      if (*armed) throw std::runtime_error("move");
    }
    bool* armed;
  };
  struct Throwing {
    std::optional<Armed> alloc_major(const Allocation&) { return std::optional<Armed>(armed); }
    void dealloc_major(Armed) { ADD_FAILURE() << "has no value to be called with"; }
    bool* armed;
  };
  bool armed = false;
  const auto id = Tracker::start(1, Throwing{&armed});
  ASSERT_TRUE(id.ok());
  void* block = SamplingMalloc(8);
  armed = true;
  SamplingFree(block);
  EXPECT_EQ(Tracker::statistics(*id)->callback_exceptions, 1u);
  ASSERT_TRUE(Tracker::stop().ok());
}

TEST(CallbackTest, NothingFromAllocEndsTheTracking) {
  struct Counts {
    int allocs = 0;
    int deallocs = 0;
  } counts;
  class EverySecond {
   public:
    explicit EverySecond(Counts* counts) : counts_(counts) {}
    std::optional<int> alloc_major(const Allocation&) {
      return ++counts_->allocs % 2 == 0 ? std::optional<int>(1) : std::nullopt;
    }
    void dealloc_major(int) { ++counts_->deallocs; }
    Counts* counts_;
  };
  ASSERT_TRUE(Tracker::start(1, EverySecond(&counts)).ok());
  for (int i = 0; i < 10; ++i) SamplingFree(SamplingMalloc(8));
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(counts.allocs, 10);
  EXPECT_EQ(counts.deallocs, 5);
}

TEST(CallbackTest, ExceptionEndsTheTrackingAndIsCounted) {
  class Throwing {
   public:
    std::optional<int> alloc_major(const Allocation& allocation) {
      if (allocation.size_bytes == 1) throw std::runtime_error("alloc");
      return 1;
    }
    void dealloc_major(int) { throw 7; }
  };
  const auto id = Tracker::start(1, Throwing());
  ASSERT_TRUE(id.ok());
  void* untracked = SamplingMalloc(1);
  void* tracked = SamplingMalloc(2);
  EXPECT_NE(untracked, nullptr);
  SamplingFree(untracked);
  SamplingFree(tracked);
  EXPECT_EQ(Tracker::statistics(*id)->callback_exceptions, 2u);
  EXPECT_EQ(Tracker::statistics(*id)->reported_blocks, 2u);
  ASSERT_TRUE(Tracker::stop().ok());
}

// Move-only, counted, and larger than the space for a value in an entry.
struct Heavy {
  explicit Heavy(std::atomic<int>* live) : live_(live) { ++*live_; }
  Heavy(Heavy&& other) noexcept : live_(other.live_) { ++*live_; }
  Heavy(const Heavy&) = delete;
  ~Heavy() { --*live_; }
  std::atomic<int>* live_;
  char padding[100] = {};
};

class HeavyTracker {
 public:
  HeavyTracker(std::atomic<int>* live, int* deallocs) : live_(live), deallocs_(deallocs) {}
  std::optional<Heavy> alloc_major(const Allocation&) { return Heavy(live_); }
  void dealloc_major(Heavy value) {
    EXPECT_EQ(value.live_, live_);
    ++*deallocs_;
  }

 private:
  std::atomic<int>* live_;
  int* deallocs_;
};

TEST(CallbackTest, ValuesOfAnyTypeAreKeptAndDestroyedOnce) {
  std::atomic<int> live{0};
  int deallocs = 0;
  ASSERT_TRUE(Tracker::start(1, HeavyTracker(&live, &deallocs)).ok());
  void* block = SamplingMalloc(8);
  EXPECT_EQ(live, 1);
  SamplingFree(block);
  EXPECT_EQ(live, 0);
  EXPECT_EQ(deallocs, 1);
  ASSERT_TRUE(Tracker::stop().ok());
}

TEST(CallbackTest, StopDestroysTheValuesOfLiveBlocksWithoutCallbacks) {
  std::atomic<int> live{0};
  int deallocs = 0;
  ASSERT_TRUE(Tracker::start(1, HeavyTracker(&live, &deallocs)).ok());
  void* block = SamplingMalloc(8);
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(live, 0);
  SamplingFree(block);
  EXPECT_EQ(deallocs, 0);
}

TEST(CallbackTest, TrackerIsDestroyedWhenItIsDiscarded) {
  auto token = std::make_shared<int>(1);
  class Holder {
   public:
    explicit Holder(std::shared_ptr<int> token) : token_(std::move(token)) {}
    std::optional<int> alloc_major(const Allocation&) { return 1; }
    std::shared_ptr<int> token_;
  };
  ASSERT_TRUE(Tracker::start(1, Holder(token)).ok());
  EXPECT_EQ(token.use_count(), 2);
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(token.use_count(), 1);
}

// Two threads' callbacks wait for each other: neither may hold one of our locks.
TEST(CallbackTest, CallbacksMayBlockOnEachOther) {
  struct Meeting {
    std::atomic<int> arrived{0};
    std::atomic<bool> armed{false};
  } meeting;
  class Meeter {
   public:
    explicit Meeter(Meeting* meeting) : meeting_(meeting) {}
    std::optional<int> alloc_major(const Allocation& allocation) {
      if (!meeting_->armed || allocation.size_bytes != 1234) return std::nullopt;
      ++meeting_->arrived;
      while (meeting_->arrived < 2) std::this_thread::yield();
      return std::nullopt;
    }
    Meeting* meeting_;
  };
  ASSERT_TRUE(Tracker::start(1, Meeter(&meeting)).ok());
  meeting.armed = true;
  std::thread other([] { SamplingFree(SamplingMalloc(1234)); });
  SamplingFree(SamplingMalloc(1234));
  other.join();
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(meeting.arrived, 2);
}

TEST(CallbackTest, StopInsideACallbackIgnoresItsResult) {
  struct Counts {
    int allocs = 0;
    int deallocs = 0;
  } counts;
  class Stopping {
   public:
    explicit Stopping(Counts* counts) : counts_(counts) {}
    std::optional<int> alloc_major(const Allocation&) {
      ++counts_->allocs;
      EXPECT_TRUE(Tracker::stop().ok());
      return 1;
    }
    void dealloc_major(int) { ++counts_->deallocs; }
    Counts* counts_;
  };
  ASSERT_TRUE(Tracker::start(1, Stopping(&counts)).ok());
  void* first = SamplingMalloc(8);
  void* second = SamplingMalloc(8);
  SamplingFree(first);
  SamplingFree(second);
  EXPECT_EQ(counts.allocs, 1);
  EXPECT_EQ(counts.deallocs, 0);
  EXPECT_FALSE(Tracker::is_sampling());
}

TEST(CallbackTest, RestartInsideACallbackSamplesTheNextBlock) {
  Ledger ledger;
  class Restarting {
   public:
    explicit Restarting(Ledger* ledger) : ledger_(ledger) {}
    std::optional<int> alloc_major(const Allocation&) {
      EXPECT_TRUE(Tracker::stop().ok());
      EXPECT_TRUE(Tracker::start(1, LedgerTracker(ledger_)).ok());
      return 1;
    }
    Ledger* ledger_;
  };
  ASSERT_TRUE(Tracker::start(1, Restarting(&ledger)).ok());
  SamplingFree(SamplingMalloc(1));
  SamplingFree(SamplingMalloc(2));
  ASSERT_TRUE(Tracker::stop().ok());
  ASSERT_EQ(ledger.blocks.size(), 1u);
  EXPECT_EQ(ledger.blocks[0].allocation.size_bytes, 2u);
  EXPECT_EQ(ledger.Live(), 0);
}

// A signal handler that allocates between the countdown and the judgement takes the hit; the
// interrupted allocation then finds a countdown that is not negative.
TEST(CallbackTest, AllocationInASignalHandlerDoesNotMiscountTheInterruptedOne) {
  Ledger ledger;
  ASSERT_TRUE(Tracker::start(1, LedgerTracker(&ledger)).ok());
  SamplingFree(SamplingMalloc(8));  // the thread is in the epoch
  ASSERT_TRUE(heap_client::CountDown(5));
  SamplingFree(SamplingMalloc(8));  // the handler's
  EXPECT_EQ(heap_client::JudgeAllocationSlow(5), heap_client::Verdict::kNotSampled);
  ASSERT_EQ(ledger.blocks.size(), 2u);
  EXPECT_EQ(ledger.blocks[1].allocation.n_samples, 2u);
  EXPECT_TRUE(Tracker::stop().ok());
}

}  // namespace
}  // namespace allomon
