// fork while other threads allocate, and allocations in pthread_atfork handlers.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

struct Following {
  std::optional<size_t> alloc_major(const Allocation& allocation) { return allocation.size_bytes; }
  void dealloc_major(size_t) {}
};

// Slots and runs, fresh and used again.
void AllocateSomeOfAll() {
  for (size_t i = 0; i < 10; ++i) {
    void* small = SamplingMalloc(i * 40);
    void* large = SamplingMalloc(40000 + i * 30000);
    SamplingFree(small);
    SamplingFree(large);
  }
}

// Runs `body` in a child that is killed if it hangs.  Returns whether it ended well.
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

// The lock of the sampled range was held by another thread when the child was made.
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

std::atomic<bool> g_handlers_on{false};

// Allocates large runs, new stacks, and takes the registry's lock.
void BusyHandler() {
  if (!g_handlers_on) return;
  AllocateSomeOfAll();
  StartOptions options;
  options.concurrent = true;
  const auto id = Tracker::start(1, Following{}, options);
  AllocateSomeOfAll();
  if (id.ok()) Tracker::stop(*id).IgnoreError();
}

// Before main, so before the tracker's own: its handlers run inside ours.
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

}  // namespace
}  // namespace allomon
