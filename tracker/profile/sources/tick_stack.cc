#include "tracker/profile/sources/tick_stack.h"

#include <atomic>
#include <cstddef>

#include "tracker/base/large_object.h"

namespace allomon::internal {

// Sanitizers note where each thread's stack is.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

namespace {

// Measured: 8 KiB.
constexpr size_t kStackBytes = size_t{24} << 10;
// A thread is in a tick for some microseconds of each 4 ms, and on a processor meanwhile.
constexpr size_t kStacks = 8;

struct alignas(16) TickStack {
  char bytes[kStackBytes];
};
ALLOMON_LARGE_ZEROS TickStack g_stacks[kStacks];
std::atomic<bool> g_taken[kStacks];

}  // namespace

extern "C" void AllomonCallOnStack(void (*run)(void*), void* argument, void* end)
    __attribute__((visibility("hidden")));

// The frame pointer leads back to the thread's stack.
asm(R"(
  .pushsection .text, "ax", @progbits
  .p2align 4
  .type AllomonCallOnStack, @function
  .hidden AllomonCallOnStack
  .globl AllomonCallOnStack
AllomonCallOnStack:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdx, %rsp
  movq %rdi, %rax
  movq %rsi, %rdi
  call *%rax
  movq %rbp, %rsp
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size AllomonCallOnStack, .-AllomonCallOnStack
  .popsection
)");

bool RunOnTickStack(void (*run)(void* argument), void* argument) {
  for (size_t i = 0; i < kStacks; ++i) {
    // Acquire pairs with the release below: the thread before has left the stack.
    if (g_taken[i].load(std::memory_order_relaxed)) continue;
    if (g_taken[i].exchange(true, std::memory_order_acquire)) continue;
    AllomonCallOnStack(run, argument, &g_stacks[i] + 1);
    g_taken[i].store(false, std::memory_order_release);
    return true;
  }
  return false;
}

void ForgetTickStacks() {
  for (auto& taken : g_taken) taken.store(false, std::memory_order_relaxed);
}

#else

bool RunOnTickStack(void (*run)(void* argument), void* argument) {
  run(argument);
  return true;
}

void ForgetTickStacks() {}

#endif

}  // namespace allomon::internal
