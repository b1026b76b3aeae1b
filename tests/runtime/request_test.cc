// Requests to a thread, from signal handlers and from other threads.
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

std::atomic<int> g_attached_signals{0};
std::atomic<int> g_other_signals{0};

void OnSignal(int) { ++(RequestSafepoint() ? g_attached_signals : g_other_signals); }

class RequestTest : public ::testing::Test {
 protected:
  RequestTest() {
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    sigaction(SIGUSR1, &action, &before_);
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.on_request = [this] {
      ++requests_;
      if (hook_) hook_();
    };
    heap_ = Heap::Create(options).value();
    g_attached_signals = g_other_signals = 0;
  }
  ~RequestTest() override { sigaction(SIGUSR1, &before_, nullptr); }

  struct sigaction before_ = {};
  std::atomic<int> requests_{0};
  std::function<void()> hook_;
  std::unique_ptr<Heap> heap_;
};

TEST_F(RequestTest, HandlerIsFollowedByTheHookAtTheNextSafepoint) {
  const Mutator mutator(*heap_);
  make<Cell>(1, nullptr);
  raise(SIGUSR1);
  raise(SIGUSR1);
  EXPECT_EQ(requests_, 0);
  make<Cell>(1, nullptr);
  EXPECT_EQ(requests_, 1);
  make<Cell>(1, nullptr);
  EXPECT_EQ(requests_, 1);
  raise(SIGUSR1);
  Safepoint();
  EXPECT_EQ(requests_, 2);
  EXPECT_EQ(g_attached_signals, 3);
}

TEST_F(RequestTest, ThreadThatIsNotAttachedIsTold) {
  EXPECT_FALSE(RequestSafepoint());
  raise(SIGUSR1);
  EXPECT_EQ(g_other_signals, 1);
}

TEST_F(RequestTest, HookMayAllocateAndCollect) {
  const Mutator mutator(*heap_);
  hook_ = [this] {
    for (int i = 0; i < 10000; ++i) make<Cell>(i, nullptr);
    heap_->Collect(CollectionKind::kMajor);
  };
  Local<Cell> kept = make<Cell>(7, nullptr);
  raise(SIGUSR1);
  kept = make<Cell>(8, kept);
  EXPECT_EQ(requests_, 1);
  EXPECT_EQ(kept->tail->head, 7);
}

TEST_F(RequestTest, ExceptionOfTheHookLeavesTheAllocation) {
  const Mutator mutator(*heap_);
  hook_ = [] { throw std::runtime_error("interrupted"); };
  const uint64_t before = heap_->statistics().allocated_words;
  RequestSafepoint();
  EXPECT_THROW(make<Cell>(1, nullptr), std::runtime_error);
  EXPECT_EQ(heap_->statistics().allocated_words, before);
  EXPECT_EQ(make<Cell>(2, nullptr)->head, 2);
}

TEST_F(RequestTest, RequestDuringANativeRegionIsServedAfterIt) {
  const Mutator mutator(*heap_);
  {
    const NativeRegion native;
    raise(SIGUSR1);
  }
  make<Cell>(1, nullptr);
  EXPECT_EQ(requests_, 1);
}

TEST_F(RequestTest, WaitsUntilTheCallbackHasReturned) {
  struct Requesting {
    std::optional<int> alloc_minor(const Allocation&) {
      RequestSafepoint();
      for (int i = 0; i < 100; ++i) make<Cell>(1, nullptr);
      *in_callback = *requests;
      return std::nullopt;
    }
    const std::atomic<int>* requests;
    int* in_callback;
  };
  const Mutator mutator(*heap_);
  int in_callback = -1;
  ASSERT_TRUE(Tracker::start(1, Requesting{&requests_, &in_callback}).ok());
  make<Cell>(1, nullptr);
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(in_callback, 0);
  Safepoint();
  EXPECT_EQ(requests_, 1);
}

// Signals and other threads' requests hit the allocation path at all points.  If a request is lost,
// the test does not end.
TEST_F(RequestTest, NoneIsLost) {
  constexpr int kRounds = 500;
  std::atomic<const Mutator*> target{nullptr};
  std::thread allocating([&] {
    const Mutator mutator(*heap_);
    target = &mutator;
    // The count is below 0 if everything ends before this thread sees its last request served.
    while (requests_ >= 0 && requests_ < kRounds) make<Cell>(1, nullptr);
    target = nullptr;
    while (requests_ >= 0) {  // stays until all requests have arrived
      const NativeRegion native;
      std::this_thread::yield();
    }
  });
  while (target == nullptr) std::this_thread::yield();
  const Mutator* mutator = target;
  for (int round = 0; round < kRounds; ++round) {
    if (round % 2 == 0) {
      pthread_kill(allocating.native_handle(), SIGUSR1);
    } else {
      mutator->RequestSafepoint();
    }
    while (requests_ <= round) std::this_thread::yield();
  }
  EXPECT_EQ(requests_, kRounds);
  requests_ = -1;
  allocating.join();
}

}  // namespace
}  // namespace allomon::gc
