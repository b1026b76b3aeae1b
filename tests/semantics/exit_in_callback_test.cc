// A thread that ends itself inside a callback ends only itself.
#include <pthread.h>

#include <atomic>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"

namespace allomon {
namespace {

using ::allomon::testing::Ledger;

struct Exits {
  Ledger ledger;
  std::atomic<bool> in_alloc{false};
  std::atomic<bool> in_dealloc{false};
  std::atomic<int> code_behind{0};
};

class ExitingTracker {
 public:
  explicit ExitingTracker(Exits* exits) : exits_(exits) {}
  std::optional<int> alloc_major(const Allocation& allocation) {
    if (exits_->in_alloc.exchange(false)) pthread_exit(nullptr);
    return exits_->ledger.Open(allocation);
  }
  void dealloc_major(int serial) {
    exits_->ledger.Close(serial);
    if (exits_->in_dealloc.exchange(false)) pthread_exit(nullptr);
  }

 private:
  Exits* exits_;
};

void* AllocateAndFree(void* exits) {
  SamplingFree(SamplingMalloc(64));
  ++static_cast<Exits*>(exits)->code_behind;
  return nullptr;
}

void RunThread(Exits* exits) {
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, nullptr, AllocateAndFree, exits), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
}

TEST(ExitInCallbackTest, SamplingGoesOnWhenAThreadExitsInsideACallback) {
  Exits exits;
  const auto id = Tracker::start(1, ExitingTracker(&exits));
  ASSERT_TRUE(id.ok());
  exits.in_alloc = true;
  RunThread(&exits);
  EXPECT_EQ(exits.code_behind, 0);
  exits.in_dealloc = true;
  RunThread(&exits);
  EXPECT_EQ(exits.code_behind, 0);
  RunThread(&exits);
  EXPECT_EQ(exits.code_behind, 1);
  SamplingFree(SamplingMalloc(8));
  EXPECT_EQ(exits.ledger.Live(), 0);
  EXPECT_EQ(exits.ledger.blocks.size(), 3u);
  EXPECT_EQ(Tracker::statistics(*id)->callback_exceptions, 0u);
  // No pin remained: the tracker can be discarded, and its slot used again.
  ASSERT_TRUE(Tracker::stop().ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Tracker::start(1, ExitingTracker(&exits)).ok());
    ASSERT_TRUE(Tracker::stop().ok());
  }
}

// Ends its thread in its alloc callback, once.
struct ExitingOnce {
  std::optional<int> alloc_major(const Allocation&) {
    if (exit_now->exchange(false)) pthread_exit(nullptr);
    return 0;
  }
  std::atomic<bool>* exit_now;
};

// The first tracker was told of a block that was then never created.
TEST(ExitInCallbackTest, TrackersThatKeptTheBlockBeforeAreToldThatItDied) {
  Exits exits;
  std::atomic<bool> exit_now{true};
  StartOptions options;
  options.concurrent = true;
  const auto first = Tracker::start(1, ::allomon::testing::LedgerTracker(&exits.ledger), options);
  const auto second = Tracker::start(1, ExitingOnce{&exit_now}, options);
  ASSERT_TRUE(first.ok() && second.ok());
  RunThread(&exits);
  EXPECT_EQ(exits.code_behind, 0);
  EXPECT_EQ(exits.ledger.blocks.size(), 1u);
  EXPECT_EQ(exits.ledger.Live(), 0);
  EXPECT_FALSE(exits.ledger.out_of_order);
  EXPECT_TRUE(Tracker::snapshot(*first).empty());
  ASSERT_TRUE(Tracker::stop(*first).ok());
  ASSERT_TRUE(Tracker::stop(*second).ok());
}

// A thread that ended in a callback used to leak its slot in the allocator's range.
TEST(ExitInCallbackTest, MemoryOfABlockWhoseReportWasBrokenOffIsUsedAgain) {
  std::atomic<bool> exit_now{false};
  Exits exits;
  ASSERT_TRUE(Tracker::start(1, ExitingOnce{&exit_now}).ok());
  void* before = SamplingMalloc(30000);
  SamplingFree(before);
  for (int i = 0; i < 3; ++i) {
    exit_now = true;
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, nullptr, [](void*) -> void* { return SamplingMalloc(30000); }, nullptr),
              0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    ASSERT_FALSE(exit_now);
  }
  void* after = SamplingMalloc(30000);
  EXPECT_EQ(after, before);
  SamplingFree(after);
  ASSERT_TRUE(Tracker::stop().ok());
}

// A callback frees a block and then ends its thread.  The dealloc callback runs while the thread
// ends, under the usual rules: alone, not sampled, and allowed to end the thread.
struct LastMoments {
  std::atomic<int> depth{0};
  std::atomic<int> deepest{0};
  std::atomic<int> deaths{0};
  std::atomic<bool> leave{false};
  void* block = nullptr;
  bool death_leaves = false;
};

class LastMomentsTracker {
 public:
  explicit LastMomentsTracker(LastMoments* moments) : moments_(moments) {}
  std::optional<int> alloc_major(const Allocation&) {
    const Depth inside(moments_);
    if (moments_->leave.exchange(false)) {
      SamplingFree(moments_->block);
      pthread_exit(nullptr);
    }
    return 1;
  }
  void dealloc_major(int) {
    const Depth inside(moments_);
    ++moments_->deaths;
    SamplingFree(SamplingMalloc(40));
    if (moments_->death_leaves) pthread_exit(nullptr);
  }

 private:
  struct Depth {
    explicit Depth(LastMoments* all) : moments(all) {
      const int depth = ++moments->depth;
      if (depth > moments->deepest) moments->deepest = depth;
    }
    ~Depth() { --moments->depth; }
    LastMoments* moments;
  };
  LastMoments* moments_;
};

void* AllocateOnce(void* moments) {
  static_cast<LastMoments*>(moments)->leave = true;
  SamplingFree(SamplingMalloc(64));
  return nullptr;
}

void EndThreadWithADeathDue(bool death_leaves) {
  LastMoments moments;
  moments.death_leaves = death_leaves;
  for (int round = 1; round <= 20; ++round) {
    ASSERT_TRUE(Tracker::start(1, LastMomentsTracker(&moments)).ok());
    moments.block = SamplingMalloc(8);
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, nullptr, AllocateOnce, &moments), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    EXPECT_EQ(moments.deaths, round);
    // A start writes to every thread in the registry; an ended thread's memory must not be among
    // them.
    ASSERT_TRUE(Tracker::stop().ok());
  }
  EXPECT_EQ(moments.deepest, 1);
}

TEST(ExitInCallbackTest, DeathDueAtTheEndOfAThreadIsToldAlone) { EndThreadWithADeathDue(false); }

TEST(ExitInCallbackTest, CallbackInTheLastMomentsMayEndItsThreadAgain) {
  EndThreadWithADeathDue(true);
}

}  // namespace
}  // namespace allomon
