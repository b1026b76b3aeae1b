// The point at which a thread stands: its stack pointer, and the callee-saved registers.
//
// All references that its functions hold are then in their frames, above the stack pointer, or in
// these registers.  The System V ABIs list them: x86-64 in section 3.2.1, AArch64 in AAPCS64,
// section 6.1 (with d8 to d15, to which a compiler may spill an address).
#ifndef ALLOMON_RUNTIME_INTERNAL_STACKS_STAND_POINT_H_
#define ALLOMON_RUNTIME_INTERNAL_STACKS_STAND_POINT_H_

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <csetjmp>
#endif

namespace allomon::gc::internal {

#if defined(__x86_64__)
inline constexpr size_t kSavedRegisters = 6;
#elif defined(__aarch64__)
inline constexpr size_t kSavedRegisters = 19;
#else
inline constexpr size_t kSavedRegisters = sizeof(jmp_buf) / sizeof(uintptr_t);
#endif

struct StandPoint {
  uintptr_t registers[kSavedRegisters] = {};
  uintptr_t stack_pointer = 0;  // 0: the stack is not scanned
};

#if defined(__x86_64__) || defined(__aarch64__)
// A few lines of assembly, in x86_64/ and aarch64/, so that no prologue comes before them.  Fills
// `registers` and `stack_pointer`; the stack pointer is the one that the caller has.
extern "C" void allomon_gc_save_registers(StandPoint* point) __attribute__((visibility("hidden")));
#endif

// Inlined into a function that does not return while the thread stands, so that this function's
// frame and saved registers lie above the stack pointer.
__attribute__((always_inline)) inline void StandHere(StandPoint& point) {
#if defined(__x86_64__) || defined(__aarch64__)
  allomon_gc_save_registers(&point);
#else
  setjmp(reinterpret_cast<jmp_buf&>(point.registers));
  point.stack_pointer = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - 512;
#endif
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_STACKS_STAND_POINT_H_
