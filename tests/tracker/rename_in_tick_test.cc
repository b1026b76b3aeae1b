// dlclose during a time profile: a tick arrives while interned stacks get their new frames.
//
// The page of a stack is made read-only, so that the renaming of its frames faults; the fault's
// handler uses up processor time until ticks have come, and then makes the page writable again.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "gtest/gtest.h"
#include "tracker/core/stack_table.h"
#include "tracker/core/thread_state.h"
#include "tracker/profile/profile.h"

namespace allomon::internal {
namespace {

constexpr uintptr_t kGone = 0x1000;
constexpr uintptr_t kMoved = 0x5000000;

void* g_page = nullptr;
void (*g_meanwhile)() = nullptr;
std::atomic<int> g_faults{0};

void OnFault(int) {
  ++g_faults;
  g_meanwhile();
  mprotect(g_page, 4096, PROT_READ | PROT_WRITE);
}

// Runs in a child, which an alarm ends if it deadlocks.
void ExpectThatRenamingLets(void (*happen)()) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const StackId stack = Stacks().Intern(&kGone, 1, false);
    const uintptr_t* const frames = Stacks().View(stack).frames;
    g_page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(frames) & ~uintptr_t{4095});
    g_meanwhile = happen;
    signal(SIGSEGV, OnFault);
    mprotect(g_page, 4096, PROT_READ);
    Stacks().RenameFrames(stack, stack + 1, kGone, kGone, kMoved);
    _exit(g_faults == 1 && *frames == kGone + kMoved && !CurrentThread().busy ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The same steps as a tick's.
TEST(RenameInTickTest, TickFindsItsThreadBusy) {
  ExpectThatRenamingLets([] {
    if (CurrentThread().busy) return;
    const uintptr_t unknown = 0x2000;
    Stacks().Intern(&unknown, 1, false);
  });
}

int64_t CpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

TEST(RenameInTickTest, TicksOfATimeProfile) {
  ProfileOptions options;
  options.kind = ProfileKind::kTime;
  ASSERT_TRUE(Profile::Start(options).ok());
  ExpectThatRenamingLets([] {
    const int64_t end = CpuNs() + 200'000'000;  // twenty ticks; a child has its own timers
    while (CpuNs() < end) {
    }
  });
  ASSERT_TRUE(Profile::Stop().ok());
}

}  // namespace
}  // namespace allomon::internal
