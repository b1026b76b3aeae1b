// What a hooked function calls.  At a function's start every register may hold an
// argument, so this file is compiled for the general registers alone, without
// instrumentation (see BUILD), and its one function saves each that it uses.
#include "tracker/profile/thread_profile.h"

#if defined(__x86_64__)

namespace allomon::internal {

// `frame` is where the function's return address lies.
extern "C" __attribute__((no_caller_saved_registers, flatten, used)) void AllomonOnEntry(
    uintptr_t frame, uint32_t function) {
  ThreadProfile& thread = thread_profile;
  // A signal handler's function that interrupted this one, a thread that is not attached,
  // another stack (sigaltstack, a coroutine's), or one of a million functions.
  if (thread.busy || !IsOnOwnStack(thread, frame) || thread.top >= thread.limit) return;
  thread.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  while (thread.top->frame <= frame || HasReturned(*thread.top)) PopEntry(thread);
  PushEntry(thread, frame, StackWord(frame), function);
  const uint64_t step = thread.step.load(std::memory_order_relaxed);
  if (step != 0) {
    ThreadCounts* const counts = thread.counts;
    if (counts != nullptr) {
      std::atomic<uint64_t>& current = counts->cells[function].current;
      current.store(current.load(std::memory_order_relaxed) + step, std::memory_order_relaxed);
      counts->total.store(counts->total.load(std::memory_order_relaxed) + step,
                          std::memory_order_relaxed);
    }
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread.busy = false;
}

// Stack: the number; the return address into the hooked function; its own.
asm(R"(
  .text
  .globl AllomonEntryCall
  .hidden AllomonEntryCall
  .type AllomonEntryCall, @function
AllomonEntryCall:
  .cfi_startproc
  .cfi_def_cfa_offset 16
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  leaq 32(%rsp), %rdi
  movl 16(%rsp), %esi
  call AllomonOnEntry
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  leaq 8(%rsp), %rsp
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size AllomonEntryCall, . - AllomonEntryCall
)");

}  // namespace allomon::internal

#else

extern "C" void AllomonEntryCall() {}

#endif
