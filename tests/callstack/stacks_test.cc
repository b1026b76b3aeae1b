// Stacks other than a thread's own, frames that a signal interrupted, and many threads at once.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/callstack/capturing.h"
#include "tests/callstack/frames.h"
#include "tracker/base/signal_frame.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/rule_cache.h"

namespace allomon {
namespace {

using testing::Both;
using testing::CaptureBoth;
using testing::ExpectSameStacks;

// A mapping with an inaccessible page on either side, so that a read past its ends faults.
class GuardedStack {
 public:
  explicit GuardedStack(size_t bytes) : bytes_(bytes) {
    void* all = mmap(nullptr, bytes_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(all, MAP_FAILED);
    base_ = static_cast<char*>(all) + kPage;
    EXPECT_EQ(mprotect(base_, bytes_, PROT_READ | PROT_WRITE), 0);
  }
  ~GuardedStack() { munmap(base_ - kPage, bytes_ + 2 * kPage); }

  char* base() { return base_; }
  size_t size() const { return bytes_; }

 private:
  static constexpr size_t kPage = 4096;
  const size_t bytes_;
  char* base_;
};

constexpr size_t kFrames = 256;
struct RawCapture {
  uintptr_t frames[kFrames];
  size_t count = 0;
  bool truncated = false;
};
RawCapture in_handler;

__attribute__((noinline)) void CaptureInHandler(int) {
  in_handler.count =
      CaptureCallstack(ALLOMON_CALLER_FRAME(), in_handler.frames, kFrames, &in_handler.truncated);
}

// Installs CaptureInHandler for SIGUSR1, and puts the old handler back.
class HandlerInstalled {
 public:
  explicit HandlerInstalled(int flags) {
    struct sigaction action = {};
    action.sa_handler = CaptureInHandler;
    action.sa_flags = flags;
    EXPECT_EQ(sigaction(SIGUSR1, &action, &before_), 0);
  }
  ~HandlerInstalled() { sigaction(SIGUSR1, &before_, nullptr); }

 private:
  struct sigaction before_;
};

class AlternateStack {
 public:
  explicit AlternateStack(GuardedStack* stack) {
    stack_t description = {};
    description.ss_sp = stack->base();
    description.ss_size = stack->size();
    EXPECT_EQ(sigaltstack(&description, &before_), 0);
  }
  ~AlternateStack() { sigaltstack(&before_, nullptr); }

 private:
  stack_t before_;
};

// A Body for frames.h: fills the Both with the stack that raise() interrupts, from inside of the
// handler and from outside.
void RaiseAndCapture(void* argument) {
  in_handler.count = 0;
  raise(SIGUSR1);
  CaptureBoth(argument);
}

// All frames of the code that raised the signal must be below the handler's.
void ExpectInterruptedFrames(const Both& both) {
  const RawCapture& c = in_handler;
  EXPECT_FALSE(c.truncated);
  ASSERT_GT(c.count, both.ours.frames.size());
  // frames[0] and frames[1] of the other capture are in CaptureBoth and RaiseAndCapture.
  const auto& outside = both.ours.frames;
  EXPECT_TRUE(
      std::equal(outside.begin() + 2, outside.end(), c.frames + c.count - (outside.size() - 2)));
}

TEST(Stacks, OutOfSignalHandler) {
  HandlerInstalled handler(0);
  Both both;
  testing::CallThroughAll(RaiseAndCapture, &both);
  ExpectSameStacks(both, 12);
  ExpectInterruptedFrames(both);
}

TEST(Stacks, OutOfHandlerOnAlternateStack) {
  GuardedStack stack(16384);
  AlternateStack alternate(&stack);
  HandlerInstalled handler(SA_ONSTACK);
  Both both;
  testing::CallThroughAll(RaiseAndCapture, &both);
  ExpectSameStacks(both, 12);
  ExpectInterruptedFrames(both);
}

TEST(Stacks, OutOfHandlerOnAlternateStackInThread) {
  Both both;
  std::thread([&] {
    GuardedStack stack(16384);
    AlternateStack alternate(&stack);
    HandlerInstalled handler(SA_ONSTACK);
    testing::CallThroughAll(RaiseAndCapture, &both);
  }).join();
  ExpectSameStacks(both, 12);
  ExpectInterruptedFrames(both);
}

void CaptureInterrupted(int, siginfo_t*, void* context) {
  in_handler.count = CaptureCallstack(internal::InterruptedFrame(context), in_handler.frames,
                                      kFrames, &in_handler.truncated);
}

// The walk begins at the interrupted instruction, so no frame of the handler is in it.
TEST(Stacks, FromTheInterruptedFrame) {
  struct sigaction action = {};
  struct sigaction before;
  action.sa_sigaction = CaptureInterrupted;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  Both both;
  testing::CallThroughAll(RaiseAndCapture, &both);
  sigaction(SIGUSR1, &before, nullptr);
  ExpectInterruptedFrames(both);
  // Between the caller and the interrupted instruction are raise() and a few functions of libc.
  EXPECT_LT(in_handler.count, both.ours.frames.size() + 6);
}

// The interrupted instruction may be anywhere, also in a prologue, an epilogue or a PLT entry: the
// test steps through a call of a library function one instruction at a time.
RawCapture in_step;
int steps = 0;
int complete_steps = 0;
int interrupted_frames = 0;
uintptr_t step_caller = 0;

__attribute__((noinline)) void OnStep(int, siginfo_t*, void* context) {
  in_step.count =
      CaptureCallstack(ALLOMON_CALLER_FRAME(), in_step.frames, kFrames, &in_step.truncated);
  ++steps;
  const bool found = std::find(in_step.frames, in_step.frames + in_step.count, step_caller) !=
                     in_step.frames + in_step.count;
  if (found && !in_step.truncated) ++complete_steps;
  // Any instruction may be the first of its function, and the one before it may be another
  // function's.
  const uintptr_t pc = internal::InterruptedFrame(context).pc;
  interrupted_frames +=
      std::count(in_step.frames, in_step.frames + in_step.count, pc + 1) == 1 ? 1 : 0;
}

#if defined(__x86_64__)
constexpr unsigned long kTrapFlag = 0x100;

__attribute__((noinline)) void SetTrapFlag(bool on) {
  if (on) {
    asm volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(kTrapFlag) : "cc", "memory");
  } else {
    asm volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~kTrapFlag) : "cc", "memory");
  }
}

void StepThrough(void*) {
  SetTrapFlag(true);
  testing::CallFromComparison([](void*) {}, nullptr);
  (void)getppid();  // through the PLT, and a system call
  SetTrapFlag(false);
}

__attribute__((noinline)) void RememberCaller(void* argument) {
  step_caller = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  StepThrough(argument);
  asm volatile("" : : : "memory");
}

TEST(Stacks, EveryInstructionOfACallMayBeInterrupted) {
  struct sigaction action = {};
  struct sigaction before;
  action.sa_sigaction = OnStep;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGTRAP, &action, &before), 0);
  testing::CallPlainly(RememberCaller, nullptr);
  sigaction(SIGTRAP, &before, nullptr);
  EXPECT_GT(steps, 100);
  EXPECT_EQ(complete_steps, steps);
  EXPECT_EQ(interrupted_frames, steps);
}
#endif

// ---- Fibers

struct Fiber {
  ucontext_t self;
  ucontext_t caller;
  Both both;
};
thread_local Fiber* current_fiber = nullptr;

void FiberMain() { testing::CallThroughAll(CaptureBoth, &current_fiber->both); }

void RunFiber(GuardedStack* stack, Fiber* fiber) {
  ASSERT_EQ(getcontext(&fiber->self), 0);
  fiber->self.uc_stack.ss_sp = stack->base();
  fiber->self.uc_stack.ss_size = stack->size();
  fiber->self.uc_link = &fiber->caller;
  current_fiber = fiber;
  makecontext(&fiber->self, FiberMain, 0);
  ASSERT_EQ(swapcontext(&fiber->caller, &fiber->self), 0);
}

TEST(Stacks, OnUcontext) {
  GuardedStack stack(128 << 10);
  Fiber fiber;
  RunFiber(&stack, &fiber);
  ExpectSameStacks(fiber.both, 10);
}

TEST(Stacks, OnManyUcontextsOfAThread) {
  std::thread([] {
    for (int i = 0; i < 20; ++i) {
      GuardedStack stack((64 + 4 * i) << 10);
      Fiber fiber;
      RunFiber(&stack, &fiber);
      ExpectSameStacks(fiber.both, 10);
    }
  }).join();
}

// checks inv.window.true: a stack that is unmapped must not be remembered as readable.
TEST(Stacks, SmallerFiberWhereALargerOneWas) {
  constexpr size_t kBytes = 256 << 10;
  char* region;
  {
    GuardedStack stack(kBytes);
    region = stack.base();
    Fiber fiber;
    RunFiber(&stack, &fiber);
  }
  // Map the lower half again; above it is nothing.
  void* low = mmap(region, kBytes / 2, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(low, region);
  uintptr_t frames[kFrames];
  bool truncated;
  const uintptr_t top = reinterpret_cast<uintptr_t>(region) + kBytes / 2;
  // The pc is in code without an FDE, so the frame pointers decide; they lead upwards.
  auto* words = reinterpret_cast<uintptr_t*>(top - 64);
  words[0] = top + 16;
  words[1] = 1;
  const uintptr_t bp = top - 64;
  EXPECT_EQ(CaptureCallstack({1, bp - 64, bp}, frames, kFrames, &truncated), 2u);
  EXPECT_TRUE(truncated);
  munmap(low, kBytes / 2);
}

// ---- Threads

constexpr size_t kSmallFrames = 64;
struct SmallCapture {
  uintptr_t frames[kSmallFrames];
  size_t count;
  bool truncated;
};

__attribute__((noinline)) void CaptureSmall(void* argument) {
  auto& c = *static_cast<SmallCapture*>(argument);
  c.count = CaptureCallstack(ALLOMON_CALLER_FRAME(), c.frames, kSmallFrames, &c.truncated);
}

void* SmallThread(void* argument) {
  testing::CallPlainly(CaptureSmall, argument);
  return nullptr;
}

// The smallest stack that the system accepts, in the test's memory between guard pages.  It also
// holds the thread's control block and the sanitizers' data.
TEST(Stacks, ThreadWithSmallStack) {
  GuardedStack stack(std::max<size_t>(sysconf(_SC_THREAD_STACK_MIN), 16384) + 8192);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack.base(), stack.size()), 0);
  SmallCapture captured = {};
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, SmallThread, &captured);
  pthread_attr_destroy(&attributes);
  if (error == EINVAL) GTEST_SKIP() << "thread-local data need more than this";
  ASSERT_EQ(error, 0);
  pthread_join(thread, nullptr);
  EXPECT_FALSE(captured.truncated);
  EXPECT_GE(captured.count, 3u);
}

// 8 KiB: only a fiber can have so small a stack.
TEST(Stacks, FiberOfTwoPages) {
  GuardedStack stack(8192);
  static SmallCapture captured;
  ucontext_t self;
  ucontext_t caller;
  ASSERT_EQ(getcontext(&self), 0);
  self.uc_stack.ss_sp = stack.base();
  self.uc_stack.ss_size = stack.size();
  self.uc_link = &caller;
  makecontext(
      &self, [] { testing::CallPlainly(CaptureSmall, &captured); }, 0);
  ASSERT_EQ(swapcontext(&caller, &self), 0);
  EXPECT_FALSE(captured.truncated);
  ASSERT_GE(captured.count, 2u);
  EXPECT_TRUE(testing::IsIn(captured.frames[0], testing::AddressOfPlain()));
}

TEST(Stacks, ManyThreadsReuseTheirStacks) {
  for (int i = 0; i < 50; ++i) {
    Both both;
    std::thread([&] { testing::CallThroughAll(CaptureBoth, &both); }).join();
    ExpectSameStacks(both, 12);
  }
}

// Several threads capture, forget and fill the shared cache at once.

constexpr int kThreads = 4;

TEST(Threads, CaptureAtOnceAndAgree) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&wrong, t] {
      testing::Both first;
      testing::CallThroughAll(testing::CaptureBoth, &first);
      for (int i = 0; i < 2000; ++i) {
        testing::Both both;
        testing::CallAtDepth(1 + (i + t) % 50, testing::CaptureBoth, &both);
        both.ours.frames[0] = both.libgcc[0];
        if (both.ours.frames != both.libgcc || both.ours.truncated) ++wrong;
        if (i % 100 == 0) ForgetUnloadedCode();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// checks inv.cache.exact: whatever other threads store, a hit is the rule of that pc.
TEST(Threads, CacheNeverMixesUp) {
  static internal::RuleCache cache;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  std::atomic<int> hits{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uintptr_t i = 0; i < 200000; ++i) {
        // One slot, 64 pcs; each pc's rule follows from the pc.
        const uintptr_t pc = 0x7f0000000000 + (i * 7 + t) % 64 * ((1 << 14) + 1);
        const internal::FrameRule rule(internal::FrameRule::kFromSp, (pc >> 14) % 4096 * 8, 16);
        for (int look = 0; look < 2; ++look) {
          internal::FrameRule found;
          if (!cache.Find(pc, &found)) {
            cache.Store(pc, rule, 1);
          } else {
            hits.fetch_add(1, std::memory_order_relaxed);
            if (found.cfa_bytes() != rule.cfa_bytes()) ++wrong;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(hits, 0);
}

}  // namespace
}  // namespace allomon
