#include "runtime/internal/stacks/stand_point.h"

#include <cstddef>

#if defined(__x86_64__)
static_assert(offsetof(allomon::gc::internal::StandPoint, stack_pointer) == 48);
// The stack pointer as the caller has it.
__asm__(
    ".text\n"
    ".globl allomon_gc_save_registers\n"
    ".hidden allomon_gc_save_registers\n"
    ".type allomon_gc_save_registers, @function\n"
    "allomon_gc_save_registers:\n"
    "  .cfi_startproc\n"
    "  movq %rbx, 0(%rdi)\n"
    "  movq %rbp, 8(%rdi)\n"
    "  movq %r12, 16(%rdi)\n"
    "  movq %r13, 24(%rdi)\n"
    "  movq %r14, 32(%rdi)\n"
    "  movq %r15, 40(%rdi)\n"
    "  leaq 8(%rsp), %rax\n"
    "  movq %rax, 48(%rdi)\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size allomon_gc_save_registers, . - allomon_gc_save_registers\n");
#endif
