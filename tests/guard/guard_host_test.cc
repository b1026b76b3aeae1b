// Hosts with their own handlers, signal stacks, forks and habits keep them.
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "allocator/guard/guarded_pool.h"
#include "allocator/range/sampled_range.h"
#include "tests/guard/child.h"
#include "tests/guard/misuse.h"

namespace allomon::testing {
namespace {

char* g_own_page = nullptr;
volatile int g_recovered = 0;

char* MapPage(int protection) {
  return static_cast<char*>(
      mmap(nullptr, kPageBytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

void InstallHandler(void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO | flags;
  action.sa_sigaction = handler;
  ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
}

// A handler as virtual machines have it: makes the host's own page accessible and returns to the
// faulting instruction.
void Recover(int, siginfo_t* info, void*) {
  if (info->si_addr != g_own_page) _exit(42);
  mprotect(g_own_page, kPageBytes, PROT_READ | PROT_WRITE);
  g_recovered = g_recovered + 1;
}

void TouchOwnPage() {
  g_own_page = MapPage(PROT_NONE);
  misuse::Write(g_own_page);
  EXPECT_EQ(g_recovered, 1);
  EXPECT_EQ(*g_own_page, 1);
}

void UseAfterFree() {
  char* block = misuse::TakeByNewArray(64);
  misuse::FreeByDeleteArray(block);
  misuse::Write(block);
}

TEST(GuardHost, HandlerFromBeforeStillRecoversItsOwnFaults) {
  const ChildEnd end = RunChild([] {
    InstallHandler(Recover);
    GuardEverything();
    TouchOwnPage();
  });
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.said, "");
}

TEST(GuardHost, HandlerFromBeforeSeesTheGuardsFaultsBehindTheReport) {
  const ChildEnd end = RunChild([] {
    InstallHandler(Recover);
    GuardEverything();
    UseAfterFree();
  });
  EXPECT_EQ(end.status, 42);
  ExpectHas(end.said, "heap-use-after-free");
  ExpectHas(end.said, "#0 misuse::TakeByNewArray");
}

struct sigaction g_replaced;

void PassOn(int signal, siginfo_t* info, void* context) {
  g_replaced.sa_sigaction(signal, info, context);
}

TEST(GuardHost, HandlerFromLaterThatPassesFaultsOnHasAReport) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    sigaction(SIGSEGV, nullptr, &g_replaced);
    InstallHandler(PassOn);
    UseAfterFree();
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  ExpectHas(end.said, "heap-use-after-free");
}

void AskGuard(int, siginfo_t* info, void* context) {
  _exit(ReportGuardedFault(*info, context) ? 43 : 44);
}

TEST(GuardHost, HandlerFromLaterMayAskTheGuard) {
  const ChildEnd ours = RunChild([] {
    GuardEverything();
    InstallHandler(AskGuard);
    UseAfterFree();
  });
  EXPECT_EQ(ours.status, 43);
  ExpectHas(ours.said, "heap-use-after-free");
  const ChildEnd another = RunChild([] {
    GuardEverything();
    InstallHandler(AskGuard);
    misuse::Write(MapPage(PROT_NONE));
  });
  EXPECT_EQ(another.status, 44);
  EXPECT_EQ(another.said, "");
}

// A wild pointer in a host without a handler kills the program by SIGSEGV, as without the guard.
// The guard writes nothing.
TEST(GuardHost, OtherFaultsAreNotOurs) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    misuse::Write(MapPage(PROT_NONE));
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  EXPECT_EQ(end.said, "");
}

TEST(GuardHost, SignalsThatAreSentDoWhatTheyDid) {
  const ChildEnd killed = RunChild([] {
    GuardEverything();
    kill(getpid(), SIGSEGV);
  });
  EXPECT_EQ(killed.signal, SIGSEGV);
  EXPECT_EQ(killed.said, "");
  const ChildEnd ignored = RunChild([] {
    signal(SIGSEGV, SIG_IGN);
    GuardEverything();
    kill(getpid(), SIGSEGV);
  });
  EXPECT_EQ(ignored.status, 0);
}

volatile int g_one_shot = 0;
void OneShot(int, siginfo_t*, void*) { g_one_shot = g_one_shot + 1; }

TEST(GuardHost, HandlerForOneFaultRunsOnce) {
  const ChildEnd end = RunChild([] {
    InstallHandler(OneShot, static_cast<int>(SA_RESETHAND));
    GuardEverything();
    kill(getpid(), SIGSEGV);
    if (g_one_shot != 1) _exit(96);
    kill(getpid(), SIGSEGV);
  });
  EXPECT_EQ(end.signal, SIGSEGV);
}

sigjmp_buf g_out;
volatile bool g_on_signal_stack = false;
char g_signal_stack[65536];

void JumpOut(int, siginfo_t*, void*) {
  char here = 0;
  char* at = &here;
  g_on_signal_stack = at >= g_signal_stack && at < g_signal_stack + sizeof(g_signal_stack);
  siglongjmp(g_out, 1);
}

__attribute__((noinline)) int Overflow(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : Overflow(depth + 1) + frame[0];
}

// A host that survives a stack overflow needs its handlers to run on an alternative stack.
TEST(GuardHost, HandlerOfStackOverflowsRunsOnItsAlternativeStack) {
  const ChildEnd end = RunChild([] {
    stack_t stack = {};
    stack.ss_sp = g_signal_stack;
    stack.ss_size = sizeof(g_signal_stack);
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    InstallHandler(JumpOut, SA_ONSTACK);
    GuardEverything();
    if (sigsetjmp(g_out, 1) == 0) Overflow(0);
    EXPECT_TRUE(g_on_signal_stack);
  });
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.said, "");
}

// A handler that did not request the alternative stack does not run on it, although the stack
// exists.
TEST(GuardHost, HandlerThatWantsTheThreadsStackHasIt) {
  const ChildEnd end = RunChild([] {
    stack_t stack = {};
    stack.ss_sp = g_signal_stack;
    stack.ss_size = sizeof(g_signal_stack);
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    InstallHandler(JumpOut);
    GuardEverything();
    if (sigsetjmp(g_out, 1) == 0) misuse::Write(MapPage(PROT_NONE));
    EXPECT_FALSE(g_on_signal_stack);
  });
  EXPECT_EQ(end.status, 0);
}

TEST(GuardHost, ReportIsWholeOnASmallSignalStack) {
  const ChildEnd end = RunChild([] {
    // The kernel's own signal frame takes AT_MINSIGSTKSZ of the stack: 3 KiB on processors with
    // wide registers.
    const size_t bytes = static_cast<size_t>(sysconf(_SC_MINSIGSTKSZ)) + 6144;
    char* pages = static_cast<char*>(
        mmap(nullptr, 8 * kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const size_t rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    ASSERT_EQ(mprotect(pages + kPageBytes, rounded, PROT_READ | PROT_WRITE), 0);
    stack_t stack = {};
    stack.ss_sp = pages + kPageBytes + rounded - bytes;
    stack.ss_size = bytes;
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    GuardEverything();
    UseAfterFree();
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  ExpectHas(end.said, "heap-use-after-free");
  ExpectHas(end.said, "note: kept by a test, size 64\n");
}

TEST(GuardHost, ChildOfAForkIsGuardedAndItsParentGoesOn) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    char* block = misuse::TakeByNewArray(64);
    const pid_t child = fork();
    if (child == 0) {
      misuse::FreeByDeleteArray(block);
      misuse::Write(block);
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << status;
    misuse::Write(block);
    misuse::FreeByDeleteArray(block);
    EXPECT_EQ(ReadGuardStatistics().errors, 0u);
  });
  EXPECT_EQ(end.status, 0);
  ExpectHas(end.said, "heap-use-after-free");
}

// The parent forks while another thread is in the pool.  The child must not wait for a lock whose
// holder does not exist in it.
TEST(GuardHost, ForksAmongThreadsThatUseThePool) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    std::atomic<bool> stop{false};
    std::thread busy([&] {
      while (!stop) misuse::FreeByFree(misuse::TakeByMalloc(64));
    });
    for (int i = 0; i < 50; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        for (int j = 0; j < 10; ++j) misuse::FreeByFree(misuse::TakeByMalloc(64));
        _exit(7);
      }
      int status = 0;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
    }
    stop = true;
    busy.join();
  });
  EXPECT_EQ(end.status, 0) << end.said;
}

sem_t g_first_is_in_handler;
std::atomic<int> g_in_handler{0};

void StandStill(int, siginfo_t*, void*) {
  if (g_in_handler.fetch_add(1) != 0) _exit(45);
  sem_post(&g_first_is_in_handler);
  for (;;) pause();
}

// The faulting thread may hold any of the allocator's locks.  A report that waited for one of them
// would wait for ever.
// checks inv.guard.report
TEST(GuardHost, ReportTakesNoLockOfTheAllocator) {
  const ChildEnd end = RunChild([] {
    GuardEverything();
    char* block = misuse::TakeByNewArray(64);
    misuse::FreeByDeleteArray(block);
    alarm(60);
    internal::TheGuardedPool().lock().lock();
    internal::TheSampledRange().lock().lock();
    misuse::Write(block);
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  ExpectHas(end.said, "  allocated by operator new[] in thread ");
  ExpectHas(end.said, "  note: kept by a test");
}

// The first fault is reported.  The second thread gets the host's handler and no report.
TEST(GuardHost, OneReportForTwoThreadsThatFault) {
  const ChildEnd end = RunChild([] {
    sem_init(&g_first_is_in_handler, 0, 0);
    InstallHandler(StandStill);
    GuardEverything();
    std::thread first(UseAfterFree);
    sem_wait(&g_first_is_in_handler);
    UseAfterFree();
  });
  EXPECT_EQ(end.status, 45);
  const size_t report = end.said.find("allomon: ");
  ASSERT_NE(report, std::string::npos);
  EXPECT_EQ(end.said.find("allomon: ", report + 1), std::string::npos) << end.said;
}

// The guard writes nothing into a file that was opened under standard error's number.
TEST(GuardHost, ClosedStandardErrorIsNotMistakenForAnotherFile) {
  char name[] = "/tmp/allomon_guard_XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  const ChildEnd end = RunChild([&] {
    GuardEverything();
    dup2(file, STDERR_FILENO);
    UseAfterFree();
  });
  EXPECT_EQ(end.signal, SIGSEGV);
  EXPECT_EQ(lseek(file, 0, SEEK_END), 0);
  close(file);
}

}  // namespace
}  // namespace allomon::testing
