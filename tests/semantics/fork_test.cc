// fork while other threads allocate, in a callback, and allocations in pthread_atfork handlers.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/support/ledger.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

struct Following {
  std::optional<size_t> alloc_major(const Allocation& allocation) { return allocation.size_bytes; }
  void dealloc_major(size_t) {}
};

std::atomic<uint64_t> g_reported{0};

struct CountingReports {
  std::optional<int> alloc_major(const Allocation&) {
    ++g_reported;
    return std::nullopt;
  }
};

// Allocates and frees small and large blocks of the sampled range, fresh ones and used ones.
void AllocateSomeOfAll() {
  for (size_t i = 0; i < 10; ++i) {
    void* small = SamplingMalloc(i * 40);
    void* large = SamplingMalloc(40000 + i * 30000);
    SamplingFree(small);
    SamplingFree(large);
  }
}

// Runs `body` in a child that is killed if it hangs.  Returns whether it ended successfully.
template <typename Body>
bool ChildEndsWell(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    body();
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Another thread held the lock of the sampled range when the child was made.
TEST(ForkTest, ChildAllocatesWhileParentsThreadsAreInMalloc) {
  ASSERT_TRUE(Tracker::start(1, Following{}).ok());
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&done] {
      while (!done) AllocateSomeOfAll();
    });
  }
  for (int i = 0; i < 300; ++i) {
    if (!ChildEndsWell(AllocateSomeOfAll)) {
      ADD_FAILURE() << "child " << i;
      break;
    }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Tracker::stop().ok());
}

// Returns the sum of bits for the positions of the sampled blocks among 3,000.
uint64_t SampledAmongTheNext() {
  uint64_t pattern = 0;
  for (int i = 0; i < 3000; ++i) {
    const uint64_t before = g_reported;
    SamplingFree(SamplingMalloc(64));
    pattern = pattern * 31 + (g_reported - before);
  }
  return pattern;
}

uint64_t SampledAmongTheNextOfAChild() {
  int ends[2] = {};
  if (pipe(ends) != 0) return 0;
  ChildEndsWell([&ends] {
    const uint64_t pattern = SampledAmongTheNext();
    if (write(ends[1], &pattern, sizeof(pattern)) != sizeof(pattern)) _exit(1);
  });
  uint64_t pattern = 0;
  EXPECT_EQ(read(ends[0], &pattern, sizeof(pattern)), static_cast<ssize_t>(sizeof(pattern)));
  close(ends[0]);
  close(ends[1]);
  return pattern;
}

// If all children of a server sampled the same words, its profile would repeat one view many times.
TEST(ForkTest, ChildrenSampleIndependently) {
  StartOptions options;
  options.seed = 1;
  ASSERT_TRUE(Tracker::start(0.01, CountingReports{}, options).ok());
  SampledAmongTheNext();
  const uint64_t first = SampledAmongTheNextOfAChild();
  const uint64_t second = SampledAmongTheNextOfAChild();
  EXPECT_NE(first, second);
  EXPECT_NE(first, SampledAmongTheNext());
  ASSERT_TRUE(Tracker::stop().ok());
}

std::atomic<bool> g_handlers_on{false};

// Allocates large runs and new stacks, and takes the registry's lock.
void BusyHandler() {
  if (!g_handlers_on) return;
  AllocateSomeOfAll();
  StartOptions options;
  options.concurrent = true;
  const auto id = Tracker::start(1, Following{}, options);
  AllocateSomeOfAll();
  if (id.ok()) Tracker::stop(*id).IgnoreError();
}

// Registered before main and before the tracker's own handlers, so the tracker's run inside ours.
__attribute__((constructor)) void RegisterBusyHandlers() {
  pthread_atfork(BusyHandler, BusyHandler, BusyHandler);
}

TEST(ForkTest, AtforkHandlersAllocateStartAndStop) {
  ASSERT_TRUE(Tracker::start(1, Following{}).ok());
  ASSERT_TRUE(ChildEndsWell([] {
    alarm(20);
    g_handlers_on = true;
    for (int i = 0; i < 3; ++i) {
      if (!ChildEndsWell(AllocateSomeOfAll)) _exit(1);
    }
    std::thread(AllocateSomeOfAll).join();
  }));
  ASSERT_TRUE(Tracker::stop().ok());
}

using ::allomon::testing::Ledger;

struct Forks {
  Ledger ledger;
  pid_t child = -1;  // fork's result for the one block of 4321 bytes
};

class ForkingTracker {
 public:
  explicit ForkingTracker(Forks* forks) : forks_(forks) {}
  std::optional<int> alloc_major(const Allocation& allocation) {
    if (allocation.size_bytes == 4321) forks_->child = fork();
    return forks_->ledger.Open(allocation);
  }
  void dealloc_major(int serial) { forks_->ledger.Close(serial); }

 private:
  Forks* forks_;
};

// Checks, in both processes, that the callback returns, its block is followed, and so are later
// ones.
bool GoesOn(Forks* forks, void* block) {
  SamplingFree(block);
  SamplingFree(SamplingMalloc(10));
  return forks->ledger.blocks.size() == 2 && forks->ledger.Live() == 0 && Tracker::stop().ok();
}

TEST(ForkInCallbackTest, BothProcessesGoOn) {
  Forks forks;
  ASSERT_TRUE(Tracker::start(1, ForkingTracker(&forks)).ok());
  void* block = SamplingMalloc(4321);
  ASSERT_GE(forks.child, 0);
  if (forks.child == 0) _exit(GoesOn(&forks, block) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(forks.child, &status, 0), forks.child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(GoesOn(&forks, block));
}

}  // namespace
}  // namespace allomon
