#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tracker/base/errno_keeper.h"
#include "tracker/profile/sources/thread_timers.h"

namespace allomon::internal {

// The thread sanitizer has to know of handlers.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

extern "C" void AllomonTickReturn() __attribute__((visibility("hidden")));

namespace {

// As the kernel has it.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;  // NOLINT
  void (*restorer)();
  uint64_t mask;
};

constexpr unsigned long kHasRestorer = 0x04000000;  // NOLINT: SA_RESTORER

// The first real-time signal of the kernel is glibc's: pthread_cancel sends it to a thread that may
// be cancelled at any instruction.  Such a thread would end inside a tick, and take along what the
// tick has begun.  sigaddset() refuses the signal.
constexpr uint64_t kCancellation = uint64_t{1} << (32 - 1);

int g_signal = 0;

// What the assembler counts with.
static_assert(offsetof(ucontext_t, uc_mcontext) == 40);
static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_R15]) == 96);
static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_RDI]) == 104);
static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]) == 160);
static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]) == 168);
static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_EFL]) == 176);
static_assert(offsetof(ucontext_t, uc_mcontext.fpregs) == 224);

}  // namespace

// The signals that were blocked beside the handler's own are the thread's again, if the filter
// allows that.
extern "C" __attribute__((visibility("hidden"), used)) void AllomonTickReturnRefused(
    const ucontext_t* context) {
  const ErrnoKeeper keeper;
  uint64_t mask;
  memcpy(&mask, &context->uc_sigmask, sizeof(mask));
  mask |= uint64_t{1} << (g_signal - 1);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof(mask));
  OnTickReturnRefused();
}

bool SetTickAction(int signal, const struct sigaction& action) {
  g_signal = signal;
  KernelAction ours = {action.sa_sigaction,
                       static_cast<unsigned long>(action.sa_flags) |  // NOLINT
                           kHasRestorer,
                       AllomonTickReturn, 0};
  memcpy(&ours.mask, &action.sa_mask, sizeof(ours.mask));
  ours.mask |= kCancellation;
  return syscall(SYS_rt_sigaction, signal, &ours, nullptr, sizeof(ours.mask)) == 0;
}

// Unwinders and debuggers know a signal's frame by the first two instructions, or by the unwind
// table, which says where the frame has each register.  They look a return address up one byte
// before it, hence the nop.
//
// Behind the system call the stack pointer is at the ucontext_t, as it was before it.  The
// registers come back from there, the flags and the pc by way of two words below the interrupted
// code's red zone.
asm(R"(
  .pushsection .text, "ax", @progbits
  .macro allomon_saved register, offset
  .cfi_escape 0x10, \register, 3, 0x77, (\offset & 0x7f) | 0x80, \offset >> 7
  .endm
  .p2align 4
  .type AllomonTickReturn, @function
  .hidden AllomonTickReturn
  .globl AllomonTickReturn
  .cfi_startproc
  .cfi_signal_frame
  .cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06
  allomon_saved 8, 40
  allomon_saved 9, 48
  allomon_saved 10, 56
  allomon_saved 11, 64
  allomon_saved 12, 72
  allomon_saved 13, 80
  allomon_saved 14, 88
  allomon_saved 15, 96
  allomon_saved 5, 104
  allomon_saved 4, 112
  allomon_saved 6, 120
  allomon_saved 3, 128
  allomon_saved 1, 136
  allomon_saved 0, 144
  allomon_saved 2, 152
  allomon_saved 7, 160
  allomon_saved 16, 168
  nop
AllomonTickReturn:
  .byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0  # movq $15, %rax
  syscall
  movq %rsp, %rdi
  call AllomonTickReturnRefused
  movq 224(%rsp), %rcx
  testq %rcx, %rcx
  jz 2f
  cmpl $0x46505853, 464(%rcx)  # FP_XSTATE_MAGIC1
  jne 1f
  movl 472(%rcx), %eax         # which parts there are
  movl 476(%rcx), %edx
  xrstor64 (%rcx)
  jmp 2f
1:fxrstor64 (%rcx)
2:movq 160(%rsp), %rcx
  subq $144, %rcx
  movq 176(%rsp), %rax
  movq %rax, (%rcx)
  movq 168(%rsp), %rax
  movq %rax, 8(%rcx)
  movq %rcx, 160(%rsp)
  movq 40(%rsp), %r8
  movq 48(%rsp), %r9
  movq 56(%rsp), %r10
  movq 64(%rsp), %r11
  movq 72(%rsp), %r12
  movq 80(%rsp), %r13
  movq 88(%rsp), %r14
  movq 96(%rsp), %r15
  movq 104(%rsp), %rdi
  movq 112(%rsp), %rsi
  movq 120(%rsp), %rbp
  movq 128(%rsp), %rbx
  movq 136(%rsp), %rdx
  movq 144(%rsp), %rax
  movq 152(%rsp), %rcx
  movq 160(%rsp), %rsp
  popfq
  ret $128
  .cfi_endproc
  .size AllomonTickReturn, .-AllomonTickReturn
  .purgem allomon_saved
  .popsection
)");

#else

bool SetTickAction(int signal, const struct sigaction& action) {
  return sigaction(signal, &action, nullptr) == 0;
}

#endif

}  // namespace allomon::internal
