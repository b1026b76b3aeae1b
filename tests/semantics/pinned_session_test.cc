// Sessions that are discarded while callbacks run: the client is destroyed when the last callback
// has returned, on any thread, at any depth.  It is not destroyed in the child of a fork that does
// not have the callback's thread.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

// A callback that waits, and a client whose destruction is observed.
struct Gate {
  std::atomic<int> clients{0};
  std::atomic<int> values{0};
  std::atomic<int> waiting{0};
  std::atomic<bool> wait{false};
  std::atomic<bool> go_on{false};
};

struct Value {
  explicit Value(Gate* g) : gate(g) { ++gate->values; }
  Value(Value&& other) noexcept : gate(other.gate) { other.gate = nullptr; }
  ~Value() {
    if (gate != nullptr) --gate->values;
  }
  Gate* gate;
};

class GateTracker {
 public:
  explicit GateTracker(Gate* gate) : gate_(gate) { ++gate_->clients; }
  GateTracker(GateTracker&& other) noexcept : gate_(other.gate_) { other.gate_ = nullptr; }
  ~GateTracker() {
    if (gate_ != nullptr) --gate_->clients;
  }
  std::optional<Value> alloc_major(const Allocation&) {
    ++gate_->waiting;
    while (gate_->wait && !gate_->go_on) std::this_thread::yield();
    return Value(gate_);
  }

 private:
  Gate* gate_;
};

// The barrier between a discard and a block going live exists for this interleaving: the discard
// passes the entry when it has no value yet, so the thread that makes the entry live must check
// again.
TEST(PinnedSessionTest, ValueThatComesAfterTheDiscardIsDestroyed) {
  Gate gate;
  gate.wait = true;
  ASSERT_TRUE(Tracker::start(1, GateTracker(&gate)).ok());
  std::atomic<bool> may_free{false};
  std::thread allocating([&may_free] {
    void* block = SamplingMalloc(64);
    while (!may_free) std::this_thread::yield();
    SamplingFree(block);
  });
  while (gate.waiting == 0) std::this_thread::yield();
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(gate.clients, 1);
  gate.go_on = true;
  while (gate.clients != 0) std::this_thread::yield();
  EXPECT_EQ(gate.values, 0);
  may_free = true;
  allocating.join();
}

TEST(PinnedSessionTest, ClientDiesWhenTheLastOfSeveralCallbacksHasReturned) {
  Gate gate;
  gate.wait = true;
  ASSERT_TRUE(Tracker::start(1, GateTracker(&gate)).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] { SamplingFree(SamplingMalloc(64)); });
  }
  while (gate.waiting < 4) std::this_thread::yield();
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(gate.clients, 1);
  gate.go_on = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gate.clients, 0);
  EXPECT_EQ(gate.values, 0);
}

// Nested drains: more pins than a thread has of its own.
struct NestingTracker {
  std::optional<int> alloc_major(const Allocation&) { return 0; }
  void survive_major(const Allocation&, int) {
    if (next) next();
  }
  std::function<void()> next;
};

TEST(PinnedSessionTest, DrainsNestDeeperThanAThreadHasSlots) {
  constexpr int kSessions = 7;
  std::vector<TrackerId> ids;
  std::atomic<int> drained{0};
  StartOptions options;
  options.concurrent = true;
  for (int i = 0; i < kSessions; ++i) {
    const auto id = Tracker::start(1, NestingTracker{[&ids, &drained, i] {
                                     ++drained;
                                     if (i > 0) {
                                       EXPECT_TRUE(Tracker::drain(ids[i - 1u]).ok());
                                     }
                                   }},
                                   options);
    ASSERT_TRUE(id.ok());
    ids.push_back(*id);
  }
  void* block = SamplingMalloc(64);
  for (const TrackerId id : ids) ASSERT_TRUE(Tracker::stop(id, StopMode::kKeepTracking).ok());
  EXPECT_TRUE(Tracker::drain(ids.back()).ok());
  SamplingFree(block);
  EXPECT_EQ(drained, kSessions);
  for (const TrackerId id : ids) EXPECT_FALSE(Tracker::statistics(id).ok());
}

// Whether the maximum number of sessions can start at once.
bool AllPlacesAreFree() {
  struct Nothing {
    std::optional<int> alloc_major(const Allocation&) { return std::nullopt; }
  };
  std::vector<TrackerId> ids;
  StartOptions options;
  options.concurrent = true;
  for (int i = 0; i < 16; ++i) {
    const auto id = Tracker::start(1, Nothing(), options);
    if (!id.ok() || !Tracker::stop(*id, StopMode::kKeepTracking).ok()) return false;
    ids.push_back(*id);
  }
  bool discarded = true;
  for (const TrackerId id : ids) discarded &= Tracker::discard(id).ok();
  return discarded;
}

int ExitCodeOfChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

// The child does not have the callback's thread, so no thread releases its pin there.  The tracker
// can still be stopped, and its slot reused; but the client, which was interrupted, stays.
TEST(PinnedSessionTest, ChildIsNotHeldByACallbackOfAThreadItDoesNotHave) {
  Gate gate;
  const auto id = Tracker::start(1, GateTracker(&gate));
  ASSERT_TRUE(id.ok());
  void* block = SamplingMalloc(64);
  gate.wait = true;
  std::thread allocating([] { SamplingFree(SamplingMalloc(64)); });
  while (gate.waiting < 2) std::this_thread::yield();

  EXPECT_EQ(ExitCodeOfChild([&] {
              gate.wait = false;
              SamplingFree(block);
              // The reports of both threads, one of which is gone.
              if (Tracker::statistics(*id)->reported_blocks != 2) return false;
              return Tracker::stop().ok() && gate.clients == 1 && gate.values == 0 &&
                     AllPlacesAreFree();
            }),
            0);

  ASSERT_TRUE(Tracker::stop().ok());
  // Discarded, and kept alive only by the callback.
  EXPECT_EQ(ExitCodeOfChild([&] { return gate.clients == 1 && AllPlacesAreFree(); }), 0);
  gate.go_on = true;
  allocating.join();
  EXPECT_EQ(gate.clients, 0);
  SamplingFree(block);
  EXPECT_TRUE(AllPlacesAreFree());
}

}  // namespace
}  // namespace allomon
