// Cancels a thread asynchronously at each instruction of a hooked function's entry: the trap flag
// makes the processor raise SIGTRAP after every instruction.
#include <pthread.h>
#include <signal.h>

#include "gtest/gtest.h"
#include "tests/profile/hooked.h"
#include "tests/support/profile_bytes.h"
#include "tracker/profile/profile.h"

namespace allomon {
namespace {

using testing::Attributed;

constexpr unsigned long kTrapFlag = 0x100;

int g_steps = 0;
int g_cancelled_step = 0;

void CancelAtStep(int) {
  if (++g_steps == g_cancelled_step) pthread_cancel(pthread_self());
}

void* EnterStepByStep(void*) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
  g_steps = 0;
  asm volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(kTrapFlag) : "cc", "memory");
  hooked::CallsTwice(hooked::Leaf);
  asm volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~kTrapFlag) : "cc", "memory");
  return nullptr;
}

void* Enter(void*) {
  hooked::CallsTwice(hooked::Leaf);
  return nullptr;
}

void* ResultOfThread(void* (*run)(void*)) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  void* result = nullptr;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  return result;
}

uint64_t StackCountOf(const NamedProfile& profile, const std::string& function) {
  for (size_t i = 0; i < profile.sources.names.size(); ++i) {
    if (profile.sources.names[i].name.rfind("hooked::" + function + "(", 0) == 0) {
      return static_cast<uint64_t>(profile.mlmon.masters[i].stack);
    }
  }
  return 0;
}

// The next thread takes over the counts of the cancelled one.  If a function were still on the
// stack there, it could never be entered onto it again, and its stack count would not advance.
TEST(CancelStepTest, CancelledEntryLeavesNoFunctionOnTheStackForTheNextThread) {
  ProfileOptions options;
  options.kind = ProfileKind::kCount;
  options.style = ProfileStyle::kStack;
  ASSERT_TRUE(Profile::Start(options).ok());
  signal(SIGTRAP, CancelAtStep);
  uint64_t entered = 0;
  do {
    ++g_cancelled_step;
    ResultOfThread(Enter);
    ++entered;
  } while (ResultOfThread(EnterStepByStep) == PTHREAD_CANCELED);
  signal(SIGTRAP, SIG_DFL);
  ASSERT_TRUE(Profile::Stop().ok());
  EXPECT_GT(g_cancelled_step, 100);
  // Counts CallsTwice and its three calls of Leaf.
  EXPECT_GE(StackCountOf(Attributed(), "CallsTwice"), 4 * entered);
}

}  // namespace
}  // namespace allomon
