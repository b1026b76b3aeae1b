// Sampled calls that are left or entered in unusual ways: by longjmp, on a ucontext's stack, in a
// coroutine, on stacks of two pages, and while signals at 10 kHz capture stacks.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <coroutine>
#include <thread>
#include <vector>

#include "allocator/allocator.h"
#include "gtest/gtest.h"
#include "tests/stress/counting_tracker.h"
#include "tracker/callstack/capture.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

using ::allomon::testing::g_allocs;
using ::allomon::testing::g_deallocs;

class ControlFlowTest : public ::allomon::testing::CountingTest {
 protected:
  static void ExpectAllTold(int blocks) {
    EXPECT_EQ(g_allocs, blocks);
    EXPECT_EQ(g_deallocs, blocks);
  }
};

__attribute__((noinline)) void AllocateAtDepth(int depth, void (*inside)()) {
  void* volatile block = SamplingMalloc(64);
  if (depth > 0) AllocateAtDepth(depth - 1, inside);
  if (depth == 0 && inside != nullptr) inside();
  SamplingFree(block);
}

jmp_buf g_jump;
void* g_left[21];

__attribute__((noinline)) void AllocateAndJump(int depth) {
  g_left[depth] = SamplingMalloc(64);
  if (depth == 0) longjmp(g_jump, 1);
  if (depth > 0) AllocateAndJump(depth - 1);
  asm volatile("");  // no tail call
}

// The next captured stack must not contain frames that a longjmp has dropped.
TEST_F(ControlFlowTest, LongjmpAcrossSampledCalls) {
  static int i;  // static, so that longjmp leaves it alone
  for (i = 0; i < 1000; ++i) {
    if (setjmp(g_jump) == 0) AllocateAndJump(i % 21);
    for (int depth = 0; depth <= i % 21; ++depth) SamplingFree(g_left[depth]);
    AllocateAtDepth(3, nullptr);
  }
  EXPECT_EQ(g_allocs, g_deallocs);
  EXPECT_GT(g_allocs, 10000);
}

// A stack with an inaccessible page on each side.
class GuardedStack {
 public:
  explicit GuardedStack(size_t size) : size_(size) {
    pages_ = static_cast<char*>(
        mmap(nullptr, size + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base(), size, PROT_READ | PROT_WRITE);
  }
  ~GuardedStack() { munmap(pages_, size_ + 2 * kPage); }
  GuardedStack(const GuardedStack&) = delete;
  GuardedStack& operator=(const GuardedStack&) = delete;

  char* base() const { return pages_ + kPage; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kPage = 4096;
  const size_t size_;
  char* pages_;
};

#if !defined(__SANITIZE_THREAD__)  // it must be told of each switch of stacks
struct Context {
  explicit Context(size_t stack_bytes) : stack(stack_bytes) {}
  GuardedStack stack;
  ucontext_t self;
  ucontext_t caller;
};
thread_local Context* t_context = nullptr;
thread_local bool t_context_done = false;

void Yield() { swapcontext(&t_context->self, &t_context->caller); }

void ContextMain() {
  AllocateAtDepth(2, Yield);
  t_context_done = true;
}

// Runs a context to its Yield(), and then to its end.
void RunContext(Context* context) {
  getcontext(&context->self);
  context->self.uc_stack.ss_sp = context->stack.base();
  context->self.uc_stack.ss_size = context->stack.size();
  context->self.uc_link = &context->caller;
  t_context_done = false;
  t_context = context;
  makecontext(&context->self, ContextMain, 0);
  swapcontext(&context->caller, &context->self);
  AllocateAtDepth(2, nullptr);
  swapcontext(&context->caller, &context->self);
  EXPECT_TRUE(t_context_done);
}

TEST_F(ControlFlowTest, SampledCallsThatAreSuspendedOnAnotherStack) {
  for (int i = 0; i < 200; ++i) {
    Context context(65536);
    RunContext(&context);
  }
  ExpectAllTold(200 * 6);
}

// A sampled malloc and free with callbacks must fit, even the first one of a code path.  (The
// address sanitizer's own frames do not fit.)
#if !defined(__SANITIZE_ADDRESS__) && defined(__OPTIMIZE__)
TEST_F(ControlFlowTest, StacksOf8KibibytesAreEnough) {
  Context context(8192);
  RunContext(&context);
  std::thread([] {
    Context of_thread(8192);
    RunContext(&of_thread);
  }).join();
  ExpectAllTold(12);
}
#endif
#endif

// A generator that keeps a sampled block during its suspensions.
struct Generator {
  struct promise_type {
    Generator get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int) noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
    // The coroutine frames are sampled blocks themselves.
    static void* operator new(size_t size) { return SamplingMalloc(size); }
    static void operator delete(void* frame) { SamplingFree(frame); }
  };
  std::coroutine_handle<promise_type> handle;
};

Generator Allocating(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    void* block = SamplingMalloc(64);
    co_yield i;
    SamplingFree(block);
  }
}

TEST_F(ControlFlowTest, CoroutinesThatAreResumedByOtherThreads) {
  std::vector<Generator> generators;
  for (int i = 0; i < 50; ++i) generators.push_back(Allocating(3));
  for (int round = 0; round < 4; ++round) {
    std::thread([&generators] {
      for (Generator& generator : generators) generator.handle.resume();
    }).join();
  }
  for (Generator& generator : generators) generator.handle.destroy();
  EXPECT_EQ(g_allocs, g_deallocs);
  EXPECT_GE(g_allocs, 200);
}

std::atomic<int> g_ticks{0};
std::atomic<int> g_empty{0};

__attribute__((noinline)) void OnTick(int, siginfo_t*, void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const FrameState start = {static_cast<uintptr_t>(registers[REG_RIP]),
                            static_cast<uintptr_t>(registers[REG_RSP]),
                            static_cast<uintptr_t>(registers[REG_RBP])};
  uintptr_t frames[64];
  bool truncated = false;
  if (CaptureCallstack(start, frames, 64, &truncated) == 0) ++g_empty;
  ++g_ticks;
}

// A timer for this thread only, like that of a sampling profiler of processor time.
class Ticking {
 public:
  explicit Ticking(long period_ns) {
    struct sigaction action = {};
    action.sa_sigaction = OnTick;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigaction(SIGPROF, &action, nullptr);
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer_), 0);
    const itimerspec period = {{0, period_ns}, {0, period_ns}};
    EXPECT_EQ(timer_settime(timer_, 0, &period, nullptr), 0);
  }
  ~Ticking() {
    timer_delete(timer_);
    signal(SIGPROF, SIG_IGN);
  }

 private:
  timer_t timer_;
};

// Allocates until a thousand ticks have interrupted the thread, at any point.
void AllocateUnderTicks() {
  const Ticking ticking(100'000);
  for (int i = 0; g_ticks < 1000; ++i) AllocateAtDepth(i % 40, nullptr);
}

TEST_F(ControlFlowTest, SignalsAt10KilohertzThatCaptureStacks) {
  g_ticks = g_empty = 0;
  AllocateUnderTicks();
  EXPECT_EQ(g_empty, 0);
  EXPECT_EQ(g_allocs, g_deallocs);
}

TEST_F(ControlFlowTest, SignalsAt10KilohertzOnAnAlternateStack) {
  g_ticks = g_empty = 0;
  std::thread([] {
    GuardedStack alternate(32768);
    const stack_t stack = {alternate.base(), 0, alternate.size()};
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    AllocateUnderTicks();
    const stack_t none = {nullptr, SS_DISABLE, 0};
    sigaltstack(&none, nullptr);
  }).join();
  EXPECT_EQ(g_empty, 0);
  EXPECT_EQ(g_allocs, g_deallocs);
}

}  // namespace
}  // namespace allomon
