#include "tracker/profile/control/dormant_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tracker/base/all_signals_blocked.h"
#include "tracker/base/check.h"
#include "tracker/base/errno_keeper.h"

namespace allomon::internal {
namespace {

// The writer reads symbol tables and demangles names, which is recursive.
constexpr size_t kStackBytes = size_t{1} << 20;

int ThisTask() { return static_cast<int>(syscall(SYS_gettid)); }

// Blocks all signals, also the two that the C library keeps to itself.
class EverySignalBlocked {
 public:
  EverySignalBlocked() {
    const uint64_t all = ~uint64_t{0};
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &outer_, sizeof(all));
  }
  ~EverySignalBlocked() {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &outer_, nullptr, sizeof(outer_));
  }
  EverySignalBlocked(const EverySignalBlocked&) = delete;
  EverySignalBlocked& operator=(const EverySignalBlocked&) = delete;

 private:
  uint64_t outer_ = 0;
};

// Finds the C library's copy of the thread id in its description of the thread: the only word with
// that value.  Recursive mutexes compare it with their owner's id, so a thread without it could not
// lock them.  Returns nullptr if there are several such words, or if there is no such word.
int* FindOwnNumber(void* storage, const char* end, int number) {
  int* found = nullptr;
  for (char* at = static_cast<char*>(storage); at + sizeof(int) <= end; at += sizeof(int)) {
    int value = 0;
    memcpy(&value, at, sizeof(value));
    if (value != number) continue;
    if (found != nullptr) return nullptr;
    found = reinterpret_cast<int*>(at);
  }
  return found;
}

// Waits for the end of a thread that was never joined: it leaves the C library before it leaves the
// process.
void AwaitEnd(int task) {
  while (syscall(SYS_tgkill, getpid(), task, 0) == 0) sched_yield();
}

void* MapStack() {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return nullptr;
  mprotect(stack, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE);  // the guard
  return stack;
}

bool MakeThread(void* stack, void* (*routine)(void*), void* argument) {
  const AllSignalsBlocked blocked;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread;
  const bool made = pthread_attr_setstack(&attributes, stack, kStackBytes) == 0 &&
                    pthread_create(&thread, &attributes, routine, argument) == 0;
  pthread_attr_destroy(&attributes);
  return made;
}

}  // namespace

__attribute__((noinline)) void* DormantThread::Prepare(void* self) {
  DormantThread& thread = *static_cast<DormantThread*>(self);
  thread.storage_ = reinterpret_cast<void*>(pthread_self());
  // Frames beyond this one belong to a thread that will have ended.
  const uintptr_t frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  thread.top_ = reinterpret_cast<char*>(frame & ~uintptr_t{63});
  const int task = ThisTask();
  const char* const end = static_cast<char*>(thread.stack_) + kStackBytes;
  thread.own_number_ = FindOwnNumber(thread.storage_, end, task);
  // Pairs with the acquire in Make().
  thread.first_task_.store(task, std::memory_order_release);
  return nullptr;
}

// A stack that could not be used, or whose thread was awake at a fork, is abandoned: the C library
// may know it.
bool DormantThread::Make(void (*work)()) {
  work_ = work;
  first_task_.store(0, std::memory_order_relaxed);
  stack_ = MapStack();
  if (stack_ == nullptr) return false;
  if (!MakeThread(stack_, Prepare, this)) {
    munmap(stack_, kStackBytes);
    return false;
  }
  int task = 0;
  while ((task = first_task_.load(std::memory_order_acquire)) == 0) sched_yield();
  AwaitEnd(task);
  task_.store(0, std::memory_order_relaxed);
  state_.store(kAsleep, std::memory_order_relaxed);
  return true;
}

int DormantThread::Run(void* self) {
  DormantThread& thread = *static_cast<DormantThread*>(self);
  // The thread that made this one has waited until the word was 0.
  ALLOMON_DCHECK_EQ("inv.dormant.one", thread.task_.load(), ThisTask());
  if (thread.own_number_ != nullptr) *thread.own_number_ = ThisTask();
  uint32_t expected = kAwake;
  do {
    thread.state_.store(kAwake, std::memory_order_seq_cst);
    thread.work_();
    expected = kAwake;
  } while (!thread.state_.compare_exchange_strong(expected, kAsleep));
  // From here on a handler may make the next thread, which waits until the kernel has seen this one
  // leave the stack.
  syscall(SYS_exit, 0);
  return 0;
}

bool DormantThread::Clone() {
  constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                         CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  const EverySignalBlocked blocked;
  return clone(Run, top_, kFlags, this, &task_, storage_, &task_) >= 0;
}

bool DormantThread::Wake() {
  const ErrnoKeeper keeper;
  // An awake thread finds the request before it goes to sleep.
  if (state_.exchange(kAsked) != kAsleep) return true;
  while (IsRunning()) AwaitSleepFor1Millisecond();
  if (Clone()) return true;
  state_.store(kAsleep);
  return false;
}

void DormantThread::AwaitSleep(uint32_t most_ms) {
  const ErrnoKeeper keeper;
  for (uint32_t i = 0; i < most_ms && IsRunning(); ++i) AwaitSleepFor1Millisecond();
}

// The kernel wakes one waiter, and the others notice a little later.  The futex is not private,
// because the kernel's own wake-up is for a shared one.
void DormantThread::AwaitSleepFor1Millisecond() {
  const timespec limit = {0, 1'000'000};
  const int task = task_.load(std::memory_order_acquire);
  if (task != 0) syscall(SYS_futex, &task_, FUTEX_WAIT, task, &limit, nullptr, 0);
}

}  // namespace allomon::internal
