// The function that a hooked function calls.  At a function's start every register may hold an
// argument.  So this file is compiled for the general registers alone, without instrumentation (see
// BUILD), and its one function saves each register that it uses.
#include <cstddef>

#include "tracker/base/check.h"
#include "tracker/profile/record/thread_profile.h"

#if defined(__x86_64__)

namespace allomon::internal {
namespace {

// One instruction, so that a count by a signal handler in between is not lost.
inline void AddOne(std::atomic<uint64_t>& count) { asm("incq %0" : "+m"(count) : : "cc"); }

inline void AddOneOfMany(std::atomic<uint64_t>& count) {
  asm("lock incq %0" : "+m"(count) : : "cc");
}

// A thread without counts of its own, because it has ended or was refused memory, adds to the
// counts that all threads share.
inline void Count(const ThreadProfile& thread, uint32_t function) {
  ThreadCounts* const counts = thread.step_counts.load(std::memory_order_relaxed);
  ALLOMON_DCHECK_NE("inv.count.step", counts, nullptr);
  if (__builtin_expect(counts == thread.counts, 1)) {
    AddOne(counts->cells[function].current);
    AddOne(counts->total);
  } else {
    AddOneOfMany(counts->At(function).current);
    AddOneOfMany(counts->total);
  }
}

// True in a signal handler that interrupted the profiler, on a thread that is not attached, on
// another stack (sigaltstack, a coroutine's), and when the shadow stack is full, at a million
// functions.
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

// `frame` is the address of the function's return address.
extern "C" __attribute__((no_caller_saved_registers, flatten, used)) void AllomonOnEntry(
    uintptr_t frame, uint32_t function) {
  ThreadProfile& thread = thread_profile;
  ShadowEntry* const seen = thread.top;
  const uintptr_t return_address = StackWord(frame);
  if (!CannotPush(thread, frame)) {
    if (seen->frame == frame && seen->function == function) {
      // A call of the same function from the same place.  A pop and a push would change nothing in
      // between.
      seen->return_address = return_address;
    } else {
      thread.busy = true;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      // `thread.top` is read once more: a signal handler may have pushed a function before the
      // thread was busy.  If its entry were overwritten, that function would stay on the stack for
      // ever.
      ShadowEntry* const top = PopReturned(thread.top, frame) + 1;
      ALLOMON_DCHECK_LT("inv.shadow.order", frame, top[-1].frame);
      FunctionCell* cell = thread.cells.load(std::memory_order_relaxed);
      if (cell != nullptr) {
        cell += function;
        if (IsOnStack(*cell)) cell = nullptr;
      }
      *top = {frame, return_address, cell, function};
      const bool is_needed =
          cell != nullptr || thread.outermost_cells.load(std::memory_order_relaxed) == nullptr;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      thread.top = is_needed ? top : top - 1;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (cell != nullptr) EnterCell(cell, thread.counts);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      thread.busy = false;
    }
  }
  if (thread.step.load(std::memory_order_relaxed) != 0) Count(thread, function);
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

#else

extern "C" void AllomonEntryCall() {}

#endif
