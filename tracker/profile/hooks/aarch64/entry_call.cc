// AllomonEntryCall for 64-bit Arm.  At a function's start each register may hold an argument, but
// for x16 and x17, which any call may change on its way.  So this file is compiled for the general
// registers alone, without instrumentation (see BUILD), and saves those that it changes.
#if defined(__aarch64__)

#include "tracker/profile/hooks/on_entry.h"

namespace allomon::internal {

// The exclusive store fails if a signal handler ran in between.
inline void AddOne(std::atomic<uint64_t>& count) {
  uint64_t value;
  uint32_t failed;
  asm volatile(
      "0:  ldxr %[value], %[count]\n\t"
      "add %[value], %[value], #1\n\t"
      "stxr %w[failed], %[value], %[count]\n\t"
      "cbnz %w[failed], 0b"
      : [value] "=&r"(value), [failed] "=&r"(failed), [count] "+Q"(count));
}

// Nor does the store succeed if another thread wrote in between.
inline void AddOneOfMany(std::atomic<uint64_t>& count) { AddOne(count); }

extern "C" __attribute__((flatten, used)) void AllomonOnEntry(uintptr_t frame, uint32_t function,
                                                              uintptr_t return_address,
                                                              uintptr_t record) {
  OnEntry(frame, StripReturnAddress(return_address), record, function);
}

// x17 is the function's number, x30 the place in its stub to return to, and x29 the caller's.  The
// stub has stored the function's own x30, its return address, 32 bytes below the stack pointer at
// the function's start.
//
// The walk of a stack goes on in the function's caller, as if the function had not begun: a second
// return address, the one into the stub, leads to code without an unwind table.
asm(R"(
  .text
  .globl AllomonEntryCall
  .hidden AllomonEntryCall
  .type AllomonEntryCall, %function
AllomonEntryCall:
  .cfi_startproc
  .cfi_def_cfa_offset 32
  .cfi_offset 30, -32
  hint #34
  sub sp, sp, #176
  .cfi_def_cfa_offset 208
  stp x29, x30, [sp, #160]
  stp x0, x1, [sp]
  stp x2, x3, [sp, #16]
  stp x4, x5, [sp, #32]
  stp x6, x7, [sp, #48]
  stp x8, x9, [sp, #64]
  stp x10, x11, [sp, #80]
  stp x12, x13, [sp, #96]
  stp x14, x15, [sp, #112]
  str x18, [sp, #128]
  add x0, sp, #208
  mov w1, w17
  ldr x2, [sp, #176]
  mov x3, x29
  bl AllomonOnEntry
  ldp x29, x30, [sp, #160]
  ldp x0, x1, [sp]
  ldp x2, x3, [sp, #16]
  ldp x4, x5, [sp, #32]
  ldp x6, x7, [sp, #48]
  ldp x8, x9, [sp, #64]
  ldp x10, x11, [sp, #80]
  ldp x12, x13, [sp, #96]
  ldp x14, x15, [sp, #112]
  ldr x18, [sp, #128]
  add sp, sp, #176
  .cfi_def_cfa_offset 32
  ret
  .cfi_endproc
  .size AllomonEntryCall, . - AllomonEntryCall
)");

}  // namespace allomon::internal

#endif
