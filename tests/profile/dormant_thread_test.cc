#include "tracker/profile/control/dormant_thread.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace allomon::internal {
namespace {

// Static, like the profiler's: its storage is never freed.
DormantThread g_thread;
std::atomic<int> g_runs{0};
std::atomic<int> g_at_once{0};
std::atomic<bool> g_overlapped{false};
std::recursive_mutex g_mutex;

// Does what a writer does: allocates, locks, and uses thread-local storage.
void Work() {
  if (g_at_once.fetch_add(1) != 0) g_overlapped = true;
  thread_local std::string kept;
  const std::lock_guard<std::recursive_mutex> outer(g_mutex);
  const std::lock_guard<std::recursive_mutex> inner(g_mutex);
  kept.assign(1000, 'x');
  g_runs.fetch_add(1);
  g_at_once.fetch_sub(1);
}

int CountTasks() {
  DIR* const tasks = opendir("/proc/self/task");
  int count = 0;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// Waits, because the kernel's list of tasks may be updated a moment later.
void AwaitOneTask() {
  while (CountTasks() > 1) usleep(100);
}

class DormantThreadTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(g_thread.Make(Work)); }
  static void Sleep() {
    while (!g_thread.Survived()) usleep(100);
    g_thread.AwaitSleep(100000);
  }
};

TEST_F(DormantThreadTest, IsNoThreadBeforeAndAfter) {
  EXPECT_EQ(CountTasks(), 1);
  const int before = g_runs;
  ASSERT_TRUE(g_thread.Wake());
  Sleep();
  EXPECT_EQ(g_runs, before + 1);
  AwaitOneTask();
}

TEST_F(DormantThreadTest, RunsAfterEachRequestAndNeverTwiceAtOnce) {
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([] {
      for (int j = 0; j < 500; ++j) {
        const int before = g_runs;
        ASSERT_TRUE(g_thread.Wake());
        if (j % 100 == 0) {
          while (g_runs == before) usleep(10);
        }
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  Sleep();
  EXPECT_FALSE(g_overlapped);
}

TEST_F(DormantThreadTest, HandlerThatInterruptsItsOwnWaking) {
  signal(SIGUSR1, [](int) { g_thread.Wake(); });
  const pthread_t self = pthread_self();
  std::atomic<bool> done{false};
  std::thread sender([&] {
    while (!done) pthread_kill(self, SIGUSR1);
  });
  for (int i = 0; i < 1000; ++i) g_thread.Wake();
  done = true;
  sender.join();
  Sleep();
  EXPECT_FALSE(g_overlapped);
}

TEST_F(DormantThreadTest, ForkedChildHasItToo) {
  Sleep();
  const pid_t child = fork();
  if (child == 0) {
    const int before = g_runs;
    if (!g_thread.Survived() || !g_thread.Wake()) _exit(1);
    Sleep();
    _exit(g_runs == before + 1 ? 0 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(DormantThreadTest, ChildOfAForkInTheMiddleMakesAnother) {
  for (int i = 0; i < 50; ++i) {
    g_thread.Wake();
    const pid_t child = fork();
    if (child == 0) {
      if (!g_thread.Survived() && !g_thread.Make([] { g_runs = -1; })) _exit(1);
      g_thread.Make([] { g_runs = -1; });
      if (!g_thread.Wake()) _exit(2);
      Sleep();
      _exit(g_runs == -1 ? 0 : 3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace allomon::internal
