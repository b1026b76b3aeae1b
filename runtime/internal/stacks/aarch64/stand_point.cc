#include "runtime/internal/stacks/stand_point.h"

#include <cstddef>

#if defined(__aarch64__)
static_assert(offsetof(allomon::gc::internal::StandPoint, stack_pointer) == 152);
__asm__(
    ".text\n"
    ".globl allomon_gc_save_registers\n"
    ".hidden allomon_gc_save_registers\n"
    ".type allomon_gc_save_registers, %function\n"
    "allomon_gc_save_registers:\n"
    "  .cfi_startproc\n"
    "  stp x19, x20, [x0, #0]\n"
    "  stp x21, x22, [x0, #16]\n"
    "  stp x23, x24, [x0, #32]\n"
    "  stp x25, x26, [x0, #48]\n"
    "  stp x27, x28, [x0, #64]\n"
    "  str x29, [x0, #80]\n"
    "  stp d8, d9, [x0, #88]\n"
    "  stp d10, d11, [x0, #104]\n"
    "  stp d12, d13, [x0, #120]\n"
    "  stp d14, d15, [x0, #136]\n"
    "  mov x1, sp\n"
    "  str x1, [x0, #152]\n"
    "  ret\n"
    "  .cfi_endproc\n"
    ".size allomon_gc_save_registers, . - allomon_gc_save_registers\n");
#endif
