// What a hooked function calls.  At a function's start every register may hold an
// argument, so this file is compiled for the general registers alone, without
// instrumentation (see BUILD), and its one function saves each that it uses.
#include "tracker/profile/thread_profile.h"

#if defined(__x86_64__)

namespace allomon::internal {
namespace {

// One instruction, so that a signal handler which counts too loses nothing.
inline void AddOne(std::atomic<uint64_t>& count) { asm("incq %0" : "+m"(count) : : "cc"); }

inline void Count(const ThreadProfile& thread, uint32_t function) {
  ThreadCounts* const counts = thread.counts;
  AddOne(counts->cells[function].current);
  AddOne(counts->total);
}

// A signal handler that interrupted us, a thread that is not attached, another stack
// (sigaltstack, a coroutine's), or one of a million functions.
inline bool CannotPush(const ThreadProfile& thread, uintptr_t frame) {
  return thread.busy | !IsOnOwnStack(thread, frame) | (thread.top >= thread.limit);
}

inline ShadowEntry* PopReturned(ShadowEntry* top, uintptr_t frame) {
  while (top->frame <= frame || HasReturned(*top)) {
    if (__builtin_expect(top->cell != nullptr, 0)) LeaveCell(top->cell);
    --top;
  }
  return top;
}

}  // namespace

// `frame` is where the function's return address lies.
extern "C" __attribute__((no_caller_saved_registers, flatten, used)) void AllomonOnEntry(
    uintptr_t frame, uint32_t function) {
  ThreadProfile& thread = thread_profile;
  ShadowEntry* top = thread.top;
  const uintptr_t return_address = StackWord(frame);
  if (!CannotPush(thread, frame)) {
    if (top->frame == frame && top->function == function) {
      // Again from the same place: it would leave and come back with nothing in between.
      top->return_address = return_address;
    } else {
      thread.busy = true;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      top = PopReturned(top, frame) + 1;
      FunctionCell* cell = thread.cells.load(std::memory_order_relaxed);
      if (cell != nullptr) {
        cell += function;
        if (!EnterCell(cell, thread.counts)) cell = nullptr;
      }
      *top = {frame, return_address, cell, function};
      thread.top = top;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      thread.busy = false;
    }
  }
  if (thread.step.load(std::memory_order_relaxed) != 0) Count(thread, function);
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
