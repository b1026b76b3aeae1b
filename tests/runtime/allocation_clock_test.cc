// The lock of an allocation clock while its holder is not running.
#include "tracker/allocation_clock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace allomon {
namespace {

constexpr size_t kPageBytes = 4096;

char* g_page = nullptr;            // the page that contains the clock's cursor
std::atomic<pid_t> g_waiter{0};    // the thread that wants the lock too
std::atomic<bool> g_held{false};   // the holder has taken the lock and is stopped
std::atomic<bool> g_slept{false};  // the waiter slept while the holder was stopped

// Whether the thread sleeps in the kernel: its state is the letter after the name in its stat file.
bool Sleeps(pid_t thread) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  char text[256] = {};
  const ssize_t length = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
  close(file);
  const char* behind_name = length > 0 ? strrchr(text, ')') : nullptr;
  return behind_name != nullptr && behind_name[2] == 'S';
}

// Fault handler: the holder of the lock reads the cursor, whose page is not readable.  The handler
// delays the holder until the waiter sleeps, as if another thread had taken the holder's processor.
void StandInTheMiddle(int) {
  const int before = errno;
  g_held = true;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!g_slept && std::chrono::steady_clock::now() < deadline) {
    g_slept = g_waiter != 0 && Sleeps(g_waiter);
  }
  mprotect(g_page, kPageBytes, PROT_READ | PROT_WRITE);
  errno = before;
}

// A waiter that only yields would keep a holder of lower real-time priority from ever running.
TEST(AllocationClockTest, WaiterSleepsWhileTheHolderDoesNotRun) {
  g_page = static_cast<char*>(
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(g_page, MAP_FAILED);
  auto* const cursor = reinterpret_cast<uintptr_t*>(g_page);
  *cursor = 1000;
  AllocationClock clock;
  clock.Start(cursor);
  struct sigaction action = {};
  action.sa_handler = StandInTheMiddle;
  struct sigaction before = {};
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);

  *cursor = 1040;
  ASSERT_EQ(mprotect(g_page, kPageBytes, PROT_NONE), 0);
  std::thread waiter([&clock] {
    while (!g_held) std::this_thread::yield();
    g_waiter = gettid();
    clock.Add(100);
  });
  const uint64_t taken = clock.Take();
  waiter.join();
  EXPECT_TRUE(g_slept);
  EXPECT_EQ(taken + clock.Take(), 140u);

  clock.End();
  ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
  munmap(g_page, kPageBytes);
}

}  // namespace
}  // namespace allomon
