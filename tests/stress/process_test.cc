// Processes and threads that begin and end in unusual ways, with malloc replaced.
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/stress/counting_tracker.h"
#include "tracker/profile/profile.h"
#include "tracker/tracker.h"

extern char** environ;

namespace allomon {
namespace {

using ::allomon::testing::g_allocs;
using ::allomon::testing::g_deallocs;

void* Malloc(size_t size) {
  void* volatile block = malloc(size);
  return block;
}

void AllocateSomeOfAll() {
  for (size_t i = 0; i < 10; ++i) {
    void* small = Malloc(i * 40);
    void* large = Malloc(40000 + i * 30000);
    free(small);
    free(large);
  }
}

// Threads that are in malloc nearly all the time.
class Allocating {
 public:
  explicit Allocating(int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] {
        while (!done_) AllocateSomeOfAll();
      });
    }
  }
  ~Allocating() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

int StatusOf(pid_t child) {
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class ProcessTest : public ::allomon::testing::CountingTest {};

// The child shares the parent's memory until it calls exec.
TEST_F(ProcessTest, PosixSpawnWhileThreadsAreInMalloc) {
  const Allocating others(2);
  char program[] = "/bin/true";
  char* arguments[] = {program, nullptr};
  for (int i = 0; i < 100; ++i) {
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child, program, nullptr, nullptr, arguments, environ), 0);
    ASSERT_EQ(StatusOf(child), 0);
  }
}

// No fork handlers run.  A child that ends at once must leave the parent intact.
TEST_F(ProcessTest, VforkWhileThreadsAreInMalloc) {
  const Allocating others(2);
  for (int i = 0; i < 200; ++i) {
    const pid_t child = vfork();
    if (child == 0) _exit(7);
    ASSERT_EQ(StatusOf(child), 7);
    AllocateSomeOfAll();
  }
}

std::atomic<int> g_in_child{0};

// A size that no other code requests: a C library keeps some blocks of an ended thread.
constexpr size_t kChildsBytes = 12345;

struct CountingInChild {
  std::optional<int> alloc_major(const Allocation& allocation) {
    if (allocation.size_bytes != kChildsBytes) return std::nullopt;
    return ++g_in_child;
  }
  void dealloc_major(int) { --g_in_child; }
};

// Ends with status 0 on success.  Calls exit, so handlers and destructors run, too.
[[noreturn]] void LiveInChild() {
  alarm(20);
  AllocateSomeOfAll();
  StartOptions options;
  options.concurrent = true;
  const auto own = Tracker::start(1, CountingInChild{}, options);
  if (!own.ok()) _exit(1);
  void* block = Malloc(kChildsBytes);
  if (g_in_child != 1) _exit(2);
  std::thread([] {
    AllocateSomeOfAll();
    free(Malloc(kChildsBytes));
  }).join();
  free(block);
  if (g_in_child != 0 || !Tracker::stop(*own).ok()) _exit(3);
  exit(0);
}

TEST_F(ProcessTest, ForkedChildAllocatesTracksByItselfAndExits) {
  const Allocating others(2);
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) LiveInChild();
    ASSERT_EQ(StatusOf(child), 0) << "child " << i;
  }
}

pthread_key_t g_key;
thread_local int t_round = 0;

// Allocates in each of the possible rounds of destructors.
void AllocateInEveryRound(void* block) {
  free(block);
  if (++t_round < PTHREAD_DESTRUCTOR_ITERATIONS) pthread_setspecific(g_key, Malloc(100));
}

TEST_F(ProcessTest, KeyDestructorsAllocateInEveryRound) {
  ASSERT_EQ(pthread_key_create(&g_key, AllocateInEveryRound), 0);
  for (int i = 0; i < 100; ++i) {
    std::thread([] { pthread_setspecific(g_key, Malloc(100)); }).join();
  }
  const int live = g_allocs - g_deallocs;
  EXPECT_LT(live, 10) << "a thread leaves nothing behind";
  EXPECT_GT(g_allocs, 100 * PTHREAD_DESTRUCTOR_ITERATIONS);
}

TEST_F(ProcessTest, BlocksOfThreadsThatHaveEndedAreFreedByOthers) {
  std::vector<void*> blocks(1000);
  std::thread([&blocks] {
    for (void*& block : blocks) block = Malloc(100);
  }).join();
  const int before = g_deallocs;
  std::thread([&blocks] {
    for (void* block : blocks) free(block);
  }).join();
  EXPECT_GE(g_deallocs - before, 1000);
}

// A death may fall due while a profile is being started.  The library must not report it under the
// lock of the profiles, since the callback may take that lock.
struct AsksForProfiles {
  std::optional<int> alloc_major(const Allocation&) { return 1; }
  void dealloc_major(int) { asked += Profile::IsOn() ? 1 : 2; }
  static inline int asked = 0;
};

TEST_F(ProcessTest, DeathsInTheStartOfAProfileAreToldOutsideOfItsLock) {
  StartOptions options;
  options.concurrent = true;
  const auto id = Tracker::start(1, AsksForProfiles{}, options);
  ASSERT_TRUE(id.ok());
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Profile::Start().ok());
    ASSERT_TRUE(Profile::Stop().ok());
    free(Malloc(100));
  }
  EXPECT_GT(AsksForProfiles::asked, 0);
  ASSERT_TRUE(Tracker::stop(*id).ok());
}

}  // namespace
}  // namespace allomon
