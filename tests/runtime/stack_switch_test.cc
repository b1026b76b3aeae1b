// References on stacks that a thread leaves and enters: stacks of coroutines and of signal
// handlers.
#include <signal.h>
#include <sys/resource.h>
#include <ucontext.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ALLOMON_TEST_FIBERS 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define ALLOMON_TEST_FIBERS 1
#endif
#ifdef ALLOMON_TEST_FIBERS
#include <sanitizer/tsan_interface.h>
// The handlers here allocate.  raise() calls them, so they interrupt no allocation.
extern "C" const char* __tsan_default_options() { return "report_signal_unsafe=0"; }
#endif

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

HeapOptions Options() {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.growth_floor_bytes = 256 << 10;
  options.verify = true;
  return options;
}

__attribute__((noinline)) Local<Cell> MakeList(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
  return list;
}
__attribute__((noinline)) long Sum(Local<Cell> list) {
  long sum = 0;
  for (Local<Cell> cell = list; cell; cell = cell->tail) sum += cell->head;
  return sum;
}
constexpr long SumBelow(long length) { return length * (length - 1) / 2; }

// Tells the thread sanitizer of a switch.
#ifdef ALLOMON_TEST_FIBERS
void* NewFiber() { return __tsan_create_fiber(0); }
void* ThisFiber() { return __tsan_get_current_fiber(); }
void EnterFiber(void* fiber) { __tsan_switch_to_fiber(fiber, 0); }
void EndFiber(void* fiber) { __tsan_destroy_fiber(fiber); }
#else
void* NewFiber() { return nullptr; }
void* ThisFiber() { return nullptr; }
void EnterFiber(void*) {}
void EndFiber(void*) {}
#endif

constexpr size_t kStackBytes = 256 << 10;

// Runs `body` on a registered stack, which Yield() leaves and Resume() enters.  A thread's own
// variables are not kept across Yield(), which may return on another thread.
class Coroutine {
 public:
  using Body = std::function<void(Coroutine&)>;
  explicit Coroutine(Body body) : memory_(kStackBytes), low_(memory_.data()) { Begin(body); }
  Coroutine(Body body, char* low) : low_(low) { Begin(body); }
  ~Coroutine() { EndFiber(fiber_); }

  // Starts another body on the same stack, when the last one has ended.
  void Begin(Body body) {
    body_ = std::move(body);
    done_ = false;
    getcontext(&inside_);
    inside_.uc_stack.ss_sp = low_;
    inside_.uc_stack.ss_size = kStackBytes;
    inside_.uc_link = nullptr;
    const uintptr_t self = reinterpret_cast<uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(Run), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
  }
  bool done() const { return done_; }
  __attribute__((noinline)) void Resume() {
    resumer_ = ThisFiber();
    LeaveStack();
    EnterFiber(fiber_);
    swapcontext(&outside_, &inside_);
  }
  __attribute__((noinline)) void Yield() {
    LeaveStack();
    EnterFiber(resumer_);
    swapcontext(&inside_, &outside_);
  }
  char* memory() { return low_; }
  void NoteEmpty() { stack_.NoteEmpty(); }

 private:
  static void Run(unsigned high, unsigned low) {
    Coroutine* const self = reinterpret_cast<Coroutine*>(uintptr_t{high} << 32 | low);
    self->body_(*self);
    self->done_ = true;
    self->Yield();
  }

  std::vector<char> memory_;
  char* const low_;
  RegisteredStack stack_{low_, kStackBytes};
  Body body_;
  bool done_ = false;
  ucontext_t inside_ = {};
  ucontext_t outside_ = {};
  void* const fiber_ = NewFiber();
  void* resumer_ = nullptr;
};

class StackSwitchTest : public ::testing::Test {
 protected:
  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
};

TEST_F(StackSwitchTest, ThousandSwitchesWithAllocationsOnBothSides) {
  long wrong = 0;
  Coroutine coroutine([&wrong](Coroutine& self) {
    Local<Cell> before = MakeList(10);
    for (long round = 0; round < 500; ++round) {
      const Local<Cell> list = MakeList(round % 90);
      self.Yield();
      wrong += Sum(list) != SumBelow(round % 90) || Sum(before) != SumBelow(10);
      if (round % 7 == 0) before = MakeList(10);
    }
  });
  long rounds = 0;
  Local<Cell> before = MakeList(20);
  for (; !coroutine.done(); ++rounds) {
    const Local<Cell> list = MakeList(rounds % 70);
    coroutine.Resume();
    if (rounds % 50 == 0) heap_->Collect(CollectionKind::kMajor);
    wrong += Sum(list) != SumBelow(rounds % 70) || Sum(before) != SumBelow(20);
    if (rounds % 11 == 0) before = MakeList(20);
  }
  EXPECT_EQ(rounds, 501);
  EXPECT_EQ(wrong, 0);
}

// Each coroutine's stack is left while the next one runs.
void Nest(int depth, long* wrong, Heap* heap) {
  const Local<Cell> list = MakeList(depth * 10);
  heap->Collect(depth % 2 == 0 ? CollectionKind::kMajor : CollectionKind::kMinor);
  if (depth > 0) {
    Coroutine inner([=](Coroutine& self) {
      const Local<Cell> own = MakeList(depth);
      self.Yield();
      Nest(depth - 1, wrong, heap);
      *wrong += Sum(own) != SumBelow(depth);
    });
    while (!inner.done()) inner.Resume();
  }
  MakeList(3000);
  *wrong += Sum(list) != SumBelow(depth * 10);
}

TEST_F(StackSwitchTest, CoroutinesInCoroutines) {
  long wrong = 0;
  Nest(12, &wrong, heap_.get());
  EXPECT_EQ(wrong, 0);
}

__attribute__((noinline)) void HoldAndYield(Coroutine& self, long length, long* wrong) {
  const Local<Cell> list = MakeList(length);
  self.Yield();
  *wrong += Sum(list) != SumBelow(length);
}

TEST_F(StackSwitchTest, CoroutineGoesOnOnAnotherThread) {
  long wrong = 0;
  Coroutine coroutine([&wrong](Coroutine& self) {
    for (long round = 0; round < 60; ++round) HoldAndYield(self, round * 10, &wrong);
  });
  while (!coroutine.done()) {
    const Local<Cell> list = MakeList(100);
    coroutine.Resume();
    {
      const NativeRegion native;
      std::thread([&] {
        const Mutator mutator(*heap_);
        const Local<Cell> own = MakeList(200);
        if (!coroutine.done()) coroutine.Resume();
        heap_->Collect(CollectionKind::kMinor);
        wrong += Sum(own) != SumBelow(200);
      }).join();
    }
    MakeList(2000);
    wrong += Sum(list) != SumBelow(100);
  }
  EXPECT_EQ(wrong, 0);
}

// Another thread collects while this one is on the coroutine's stack.
TEST_F(StackSwitchTest, CoroutineInANativeRegionKeepsBothStacks) {
  long wrong = 0;
  Coroutine coroutine([&](Coroutine& self) {
    const Local<Cell> list = MakeList(30);
    self.Yield();
    const Local<Cell> more = MakeList(40);
    {
      const NativeRegion native;
      std::thread([this] {
        for (int i = 0; i < 3; ++i) heap_->Collect(CollectionKind::kMajor);
        const Mutator mutator(*heap_);
        MakeList(20000);
      }).join();
    }
    wrong += Sum(list) != SumBelow(30) || Sum(more) != SumBelow(40);
  });
  const Local<Cell> own = MakeList(50);
  while (!coroutine.done()) coroutine.Resume();
  EXPECT_EQ(Sum(own), SumBelow(50));
  EXPECT_EQ(wrong, 0);
}

// The whole memory of the stack is scanned, whatever its contents.
TEST_F(StackSwitchTest, StackThatNobodyWasOnKeepsWhatItsWordsSay) {
  Root<Cell> root;
  uintptr_t hidden = 0;
  const auto begin = [&](char* memory) __attribute__((noinline)) {
    root = make<Cell>(1, nullptr);
    hidden = ~reinterpret_cast<uintptr_t>(root.operator->());
    reinterpret_cast<uintptr_t*>(memory)[100] = ~hidden;
  };
  const auto stays = [&] { return ~reinterpret_cast<uintptr_t>(root.operator->()) == hidden; };
  {
    Coroutine coroutine([](Coroutine&) {});
    begin(coroutine.memory());
    for (int i = 0; i < 3; ++i) heap_->CollectFromTop(CollectionKind::kMajor);
    EXPECT_TRUE(stays());
  }
  for (int i = 0; i < 2; ++i) heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_FALSE(stays());
  EXPECT_EQ(root->head, 1);
}

// A stack of a pool is not looked at between two uses, nor is one that was never used.
TEST_F(StackSwitchTest, EmptyStackKeepsNothingUntilItIsUsedAgain) {
  long wrong = 0;
  Coroutine coroutine([](Coroutine&) {});
  const auto hide = [&]() __attribute__((noinline)) {
    reinterpret_cast<uintptr_t*>(coroutine.memory())[100] =
        reinterpret_cast<uintptr_t>(MakeList(1).operator->());
  };
  const auto live_words = [&] {
    for (int i = 0; i < 3; ++i) heap_->CollectFromTop(CollectionKind::kMajor);
    const HeapStatistics s = heap_->statistics();
    return s.old_words + s.young_words;
  };
  hide();
  EXPECT_EQ(live_words(), 3u);
  coroutine.NoteEmpty();
  EXPECT_EQ(live_words(), 0u);
  for (int round = 0; round < 20; ++round) {
    while (!coroutine.done()) coroutine.Resume();
    coroutine.NoteEmpty();
    hide();
    EXPECT_EQ(live_words(), 0u);
    coroutine.Begin([&wrong](Coroutine& self) { HoldAndYield(self, 500, &wrong); });
    coroutine.Resume();
    EXPECT_GE(live_words(), 1500u);
  }
  EXPECT_EQ(wrong, 0);
}

// Many stacks, in an order that is not theirs in memory, and with neighbours that touch.
TEST_F(StackSwitchTest, EachOfManyStacksIsFound) {
  constexpr size_t kStacks = 100;
  std::vector<char> memory(kStacks * kStackBytes);
  std::vector<std::unique_ptr<Coroutine>> coroutines(kStacks);
  long wrong = 0;
  for (size_t i = 0; i < kStacks; ++i) {
    const size_t place = i * 37 % kStacks;
    const auto body = [&wrong, i](Coroutine& self) {
      for (int round = 0; round < 5; ++round) HoldAndYield(self, static_cast<long>(i), &wrong);
    };
    coroutines[i] = std::make_unique<Coroutine>(body, memory.data() + place * kStackBytes);
  }
  for (size_t left = kStacks; left != 0; --left) {
    for (const auto& coroutine : coroutines) {
      if (coroutine != nullptr && !coroutine->done()) coroutine->Resume();
    }
    if (left % 20 == 0) heap_->Collect(CollectionKind::kMajor);
    coroutines[left * 53 % kStacks].reset();
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(StackSwitchTest, StackThatIsDestroyedLeavesItsObjectsToDie) {
  long wrong = 0;
  {
    Coroutine coroutine([&wrong](Coroutine& self) {
      HoldAndYield(self, 500, &wrong);
      ++wrong;  // is not resumed
    });
    coroutine.Resume();
    for (int i = 0; i < 3; ++i) heap_->CollectFromTop(CollectionKind::kMajor);
    const HeapStatistics s = heap_->statistics();
    EXPECT_GE(s.old_words + s.young_words, 1500u);
  }
  for (int i = 0; i < 2; ++i) heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(heap_->statistics().old_words, 0u);
  EXPECT_EQ(heap_->statistics().young_words, 0u);
  EXPECT_EQ(wrong, 0);
}

TEST_F(StackSwitchTest, StackIsUsedAgain) {
  long wrong = 0;
  Coroutine coroutine([](Coroutine&) {});
  for (long round = 0; round < 50; ++round) {
    while (!coroutine.done()) coroutine.Resume();
    coroutine.Begin([&wrong, round](Coroutine& self) {
      HoldAndYield(self, round, &wrong);
      MakeList(1000);
      HoldAndYield(self, 2 * round, &wrong);
    });
    heap_->Collect(CollectionKind::kMinor);
  }
  EXPECT_EQ(wrong, 0);
}

// The coroutine's stack lies inside the thread's.
TEST_F(StackSwitchTest, StackInsideOfTheThreadsOwnStack) {
  long wrong = 0;
  char memory[kStackBytes];
  Coroutine coroutine(
      [&](Coroutine& self) {
        for (long round = 0; round < 20; ++round) {
          const Local<Cell> list = MakeList(30);
          HoldAndYield(self, 100 * round, &wrong);
          heap_->Collect(CollectionKind::kMinor);
          wrong += Sum(list) != SumBelow(30);
        }
      },
      memory);
  while (!coroutine.done()) {
    const Local<Cell> list = MakeList(40);
    coroutine.Resume();
    MakeList(2000);
    wrong += Sum(list) != SumBelow(40);
  }
  EXPECT_EQ(wrong, 0);
}

// --- Signal handlers on an alternate stack.

Heap* g_heap = nullptr;
long g_handled = 0;

void CollectInHandler(int) {
  const Local<Cell> list = MakeList(500);
  g_heap->Collect(g_handled % 3 == 2 ? CollectionKind::kMajor : CollectionKind::kMinor);
  MakeList(5000);
  g_handled += Sum(list) == SumBelow(500);
}

// Handles SIGUSR1 on an alternate stack, for the thread that makes the object.
class SignalStackScope {
 public:
  explicit SignalStackScope(Heap* heap) : memory_(1 << 20) {
    g_heap = heap;
    g_handled = 0;
    stack_t stack = {};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    EXPECT_EQ(sigaltstack(&stack, &stack_before_), 0);
    struct sigaction action = {};
    action.sa_handler = CollectInHandler;
    action.sa_flags = SA_ONSTACK;
    EXPECT_EQ(sigaction(SIGUSR1, &action, &action_before_), 0);
  }
  ~SignalStackScope() {
    sigaction(SIGUSR1, &action_before_, nullptr);
    sigaltstack(&stack_before_, nullptr);
  }

 private:
  std::vector<char> memory_;
  stack_t stack_before_ = {};
  struct sigaction action_before_ = {};
};

// Holds many references while the signal is handled; no object refers to another's list.
__attribute__((noinline)) long RaiseWhileHolding(int depth) {
  const Local<Cell> a = MakeList(10), b = MakeList(20), c = MakeList(30);
  Local<Cell> more[8];
  for (Local<Cell>& list : more) list = MakeList(5);
  long wrong = 0;
  if (depth > 0) {
    wrong = RaiseWhileHolding(depth - 1);
  } else {
    raise(SIGUSR1);
  }
  for (const Local<Cell> list : more) wrong += Sum(list) != SumBelow(5);
  return wrong + (Sum(a) != SumBelow(10)) + (Sum(b) != SumBelow(20)) + (Sum(c) != SumBelow(30));
}

TEST_F(StackSwitchTest, HandlerOnItsOwnStackCollects) {
  const SignalStackScope scope(heap_.get());
  for (int round = 0; round < 30; ++round) ASSERT_EQ(RaiseWhileHolding(round), 0);
  EXPECT_EQ(g_handled, 30);
}

TEST_F(StackSwitchTest, HandlerOnItsOwnStackInterruptsACoroutine) {
  const SignalStackScope scope(heap_.get());
  long wrong = 0;
  Coroutine coroutine([&wrong](Coroutine&) { wrong += RaiseWhileHolding(5); });
  const Local<Cell> own = MakeList(50);
  while (!coroutine.done()) coroutine.Resume();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Sum(own), SumBelow(50));
  EXPECT_EQ(g_handled, 1);
}

// The words noted when the stack was left are not valid for later frames.
TEST_F(StackSwitchTest, HandlerInterruptsACoroutineThatWasLeftBefore) {
  const SignalStackScope scope(heap_.get());
  long wrong = 0;
  Coroutine coroutine([&wrong](Coroutine& self) {
    self.Yield();
    for (int round = 0; round < 10; ++round) wrong += RaiseWhileHolding(round);
    self.Yield();
    for (int round = 0; round < 10; ++round) wrong += RaiseWhileHolding(round);
  });
  const Local<Cell> own = MakeList(50);
  while (!coroutine.done()) coroutine.Resume();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Sum(own), SumBelow(50));
  EXPECT_EQ(g_handled, 20);
}

#if defined(__x86_64__)
void CollectAndSkip(int, siginfo_t*, void* context) {
  CollectInHandler(0);
  constexpr int kBytesOfUd2 = 2;
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += kBytesOfUd2;
}

// A leaf function that has its reference in the red zone, and in no register, when it faults.
__attribute__((noinline)) long FaultInLeaf(uintptr_t object) {
  long head = 0;
  asm volatile(
      "mov %%rdi, -120(%%rsp)\n\t"
      "xor %%edi, %%edi; xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi\n\t"
      "xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r11d, %%r11d\n\t"
      "ud2\n\t"
      "mov -120(%%rsp), %%rdi\n\t"
      "mov (%%rdi), %%rax"
      : "+D"(object), "=&a"(head)
      :
      : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
  return head;
}

__attribute__((noinline)) long FaultWithCell() {
  return FaultInLeaf(reinterpret_cast<uintptr_t>(internal::RawOf(MakeList(42))));
}

TEST_F(StackSwitchTest, HandlerOnItsOwnStackInterruptsALeafFunction) {
  const SignalStackScope scope(heap_.get());
  struct sigaction action = {}, action_before = {};
  action.sa_sigaction = CollectAndSkip;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ASSERT_EQ(sigaction(SIGILL, &action, &action_before), 0);
  const long head = FaultWithCell();
  sigaction(SIGILL, &action_before, nullptr);
  EXPECT_EQ(head, 41);
  EXPECT_EQ(g_handled, 1);
}
#endif

// A thread takes over what another one has left, and nothing of that one's stack.
TEST(StackSwitchTakeOverTest, HandlerOnItsOwnStackScansThisThreadsAlone) {
  const auto heap = Heap::Create(Options()).value();
  std::atomic<int> step{0};
  std::thread stays([&] {
    const Mutator mutator(*heap);
    const NativeRegion native;
    step = 1;
    while (step != 2) usleep(100);
  });
  while (step != 1) usleep(100);
  std::thread leaves([&] {
    const Mutator mutator(*heap);
    Coroutine coroutine([](Coroutine&) { MakeList(10); });
    while (!coroutine.done()) coroutine.Resume();
  });
  leaves.join();
  {
    const Mutator mutator(*heap);
    const SignalStackScope scope(heap.get());
    for (int round = 0; round < 10; ++round) ASSERT_EQ(RaiseWhileHolding(round), 0);
    EXPECT_EQ(g_handled, 10);
  }
  step = 2;
  stays.join();
}

// --- Stacks that nobody knows.

void UseAnUnknownStack() {
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  static ucontext_t inside;
  static ucontext_t outside;
  std::vector<char> memory(kStackBytes);
  getcontext(&inside);
  inside.uc_stack.ss_sp = memory.data();
  inside.uc_stack.ss_size = memory.size();
  inside.uc_link = &outside;
  makecontext(
      &inside, [] { MakeList(100'000); }, 0);
  swapcontext(&outside, &inside);
}

TEST(StackSwitchDeathTest, StacksThatOverlapAreRefused) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  std::vector<char> memory(3 * kStackBytes);
  const RegisteredStack middle(memory.data() + kStackBytes, kStackBytes);
  const RegisteredStack below(memory.data(), kStackBytes);
  const RegisteredStack above(memory.data() + 2 * kStackBytes, kStackBytes);
  EXPECT_DEATH(RegisteredStack(memory.data() + kStackBytes / 2, kStackBytes), "rule.stack");
  EXPECT_DEATH(RegisteredStack(memory.data() + kStackBytes + 1, 64), "rule.stack");
  EXPECT_DEATH(RegisteredStack(memory.data(), memory.size()), "rule.stack");
}

TEST(StackSwitchDeathTest, HeapOnAnUnknownStackIsRefused) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(UseAnUnknownStack(), "rule.stack");
}

// The heap is refused whatever size the first thread's stack may grow to.
TEST(StackSwitchDeathTest, HeapOnAnUnknownStackIsRefusedWhateverTheLimit) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        rlimit limit = {};
        getrlimit(RLIMIT_STACK, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_STACK, &limit);
        UseAnUnknownStack();
      },
      "rule.stack");
}

}  // namespace
}  // namespace allomon::gc
