// The function that a hooked function calls.  At a function's start every register may hold an
// argument.  So this file is compiled for the general registers alone, without instrumentation (see
// BUILD), and its one function saves each register that it uses.
#if defined(__x86_64__)

#include <cstddef>

#include "tracker/profile/hooks/on_entry.h"

namespace allomon::internal {

// One instruction.
inline void AddOne(std::atomic<uint64_t>& count) { asm("incq %0" : "+m"(count) : : "cc"); }

inline void AddOneOfMany(std::atomic<uint64_t>& count) {
  asm("lock incq %0" : "+m"(count) : : "cc");
}

// `frame` is the address of the function's return address.
extern "C" __attribute__((no_caller_saved_registers, flatten, used)) void AllomonOnEntry(
    uintptr_t frame, uint32_t function) {
  OnEntry(frame, StackWord(frame), 0, function);
}

// The stack holds, from the top: the function's number; the return address into the hooked
// function; the hooked function's own return address.
//
// inv.entry.nothing: where the outermost occurrence of each function is enough, an entry changes
// nothing if the function is on the stack already and is entered below a top entry that has not
// returned.  If calls are counted, the entry changes two counts only.  Such are the entries of
// recursion and of most loops.  They are handled here, with four registers and branches that go the
// same way each time.
//
//   cells = thread.outermost_cells; if (cells == nullptr) goto slow;
//   cell = &cells[number];          if (cell->on_stack == 0) goto slow;
//   if (top->frame <= frame) goto slow;
//   if (top->return_address != 0 && *top->frame != top->return_address) goto slow;
//   if (thread.step != 0) { ++cell->current; ++thread.step_counts->total; }
static_assert(sizeof(FunctionCell) == 64 && offsetof(FunctionCell, current) == 0 &&
              offsetof(FunctionCell, on_stack) == 48 && offsetof(ThreadCounts, total) == 0);
static_assert(offsetof(ThreadProfile, outermost_cells) == 0 && offsetof(ThreadProfile, top) == 8 &&
              offsetof(ThreadProfile, step_counts) == 16 && offsetof(ThreadProfile, step) == 24);
static_assert(offsetof(ShadowEntry, frame) == 0 && offsetof(ShadowEntry, return_address) == 8);
asm(R"(
  .text
  .globl AllomonEntryCall
  .hidden AllomonEntryCall
  .type AllomonEntryCall, @function
AllomonEntryCall:
  .cfi_startproc
  .cfi_def_cfa_offset 16
  pushq %rax
  .cfi_adjust_cfa_offset 8
  pushq %rcx
  .cfi_adjust_cfa_offset 8
  movq _ZN7allomon8internal14thread_profileE@GOTTPOFF(%rip), %rcx
  movq %fs:0(%rcx), %rax
  testq %rax, %rax
  jz 3f
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  movl 32(%rsp), %edx
  shlq $6, %rdx
  addq %rax, %rdx
  cmpq $0, 48(%rdx)
  je 2f
  movq %fs:8(%rcx), %rax
  movq (%rax), %rsi
  subq $48, %rsi
  cmpq %rsp, %rsi
  jbe 2f
  movq 8(%rax), %rax
  testq %rax, %rax
  jz 1f
  cmpq %rax, 48(%rsi)
  jne 2f
1:
  cmpq $0, %fs:24(%rcx)
  je 4f
  incq (%rdx)
  movq %fs:16(%rcx), %rax
  incq (%rax)
4:
  .cfi_remember_state
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rcx
  .cfi_adjust_cfa_offset -8
  popq %rax
  .cfi_adjust_cfa_offset -8
  leaq 8(%rsp), %rsp
  .cfi_adjust_cfa_offset -8
  ret
2:
  .cfi_restore_state
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
3:
  popq %rcx
  .cfi_adjust_cfa_offset -8
  popq %rax
  .cfi_adjust_cfa_offset -8
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

#endif
