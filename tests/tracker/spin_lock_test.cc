// Tests which threads may take a lock, and the message of a debug build for one that may not.
#include "tracker/base/spin_lock.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "tests/support/expect_stops.h"
#include "tracker/core/thread_state.h"
#include "tracker/core/tick_safe_lock.h"

namespace allomon::internal {
namespace {

TEST(SpinLockTest, OneThreadAtATimeHoldsIt) {
  SpinLock lock;
  int count = 0;
  std::thread threads[4];
  for (std::thread& thread : threads) {
    thread = std::thread([&lock, &count] {
      for (int i = 0; i < 20000; ++i) {
        const SpinLockHolder hold(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80000);
}

TEST(SpinLockTest, IsOpenForTheThreadThatForksAndForNoOther) {
  SpinLock lock;
  lock.LockAroundFork();
  lock.lock();
  lock.unlock();
  std::atomic<bool> taken{false};
  std::thread other([&lock, &taken] {
    const SpinLockHolder hold(lock);
    taken = true;
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(taken);
  lock.UnlockAfterFork();
  other.join();
  EXPECT_TRUE(taken);
}

// Waits for the lock until it sleeps, and ends by itself unless waiting is a cancellation point.
void* TakeWhileCancelled(void* lock) {
  pthread_cancel(pthread_self());
  { const SpinLockHolder hold(*static_cast<SpinLock*>(lock)); }
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  return lock;
}

TEST(SpinLockTest, CancelledThreadWaitsAndTakesIt) {
  SpinLock lock;
  pthread_t threads[4];
  lock.lock();
  for (pthread_t& thread : threads) {
    ASSERT_EQ(pthread_create(&thread, nullptr, TakeWhileCancelled, &lock), 0);
  }
  usleep(50'000);
  lock.unlock();
  for (const pthread_t thread : threads) {
    void* result = nullptr;
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, &lock);
  }
}

// A fork inside an atfork handler of the host.
TEST(SpinLockTest, ForksNest) {
  SpinLock lock;
  lock.LockAroundFork();
  lock.LockAroundFork();
  lock.UnlockAfterFork();
  lock.UnlockAfterFork();
  const SpinLockHolder hold(lock);
}

SpinLock g_lock;
std::atomic<int> g_steps{0};

void LockInHandler(int) {
  ++g_steps;
  g_lock.lock();
  g_lock.unlock();
}

// Between any two instructions around a fork, a handler must find the lock free, or open for its
// thread.
TEST(SpinLockTest, HandlerTakesItAtEveryInstructionAroundAFork) {
  constexpr unsigned long kTrapFlag = 0x100;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    signal(SIGTRAP, LockInHandler);
    asm volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(kTrapFlag) : "cc", "memory");
    g_lock.LockAroundFork();
    g_lock.UnlockAfterFork();
    asm volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~kTrapFlag) : "cc", "memory");
    _exit(g_steps >= 8 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SpinLockDeathTest, UnlockOfAFreeLock) {
  SpinLock lock;
  EXPECT_STOPS(lock.unlock(), "inv.lock.owner");
}

TEST(SpinLockDeathTest, UnlockByAThreadThatDoesNotHoldIt) {
  SpinLock lock;
  EXPECT_STOPS(
      {
        lock.lock();
        std::thread([&lock] { lock.unlock(); }).join();
      },
      "inv.lock.owner");
}

// A release build would deadlock.
TEST(SpinLockDeathTest, SecondLockByItsOwner) {
  if (!kDebugChecks) GTEST_SKIP() << "needs a build with checks";
  SpinLock lock;
  EXPECT_STOPS(
      {
        lock.lock();
        lock.lock();
      },
      "inv.lock.owner");
}

TEST(TickSafeLockDeathTest, LockWhileTicksAreNotKeptOut) {
  TickSafeLock lock;
  ASSERT_FALSE(CurrentThread().busy);
  EXPECT_STOPS(
      {
        lock.lock();
        lock.unlock();
      },
      "inv.lock.tick");
}

TEST(TickSafeLockTest, ItsHolderKeepsTicksOutAndLetsThemInAgain) {
  TickSafeLock lock;
  {
    const TickSafeLockHolder hold(lock);
    EXPECT_TRUE(CurrentThread().busy);
    EXPECT_TRUE(lock.IsHeldForCheck());
  }
  EXPECT_FALSE(CurrentThread().busy);
  CurrentThread().busy = true;
  { const TickSafeLockHolder hold(lock); }
  EXPECT_TRUE(CurrentThread().busy);
  CurrentThread().busy = false;
}

}  // namespace
}  // namespace allomon::internal
