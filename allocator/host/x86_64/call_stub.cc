// The instructions for a debugger that has a thread of this process make a system call
// (CallStub in tracker/formats/process_map.h).  `allomon leaks` has the process fork with them.
#if defined(__x86_64__)

#include "tracker/base/large_object.h"
#include "tracker/formats/process_map.h"

namespace allomon::internal {
namespace {

// The largest state of a processor's registers is 11 KiB (AMX).  A signal may come between two
// steps of a debugger that is killed, and then its handler has the rest for a stack.
constexpr uint64_t kRoomBytes = 80 << 10;
alignas(64) ALLOMON_LARGE_ZEROS char room[kRoomBytes];

}  // namespace
}  // namespace allomon::internal

extern "C" {
extern const char allomon_fork_call[] __attribute__((visibility("hidden")));
extern const char allomon_other_call[] __attribute__((visibility("hidden")));
extern const allomon::process_map::CallStub allomon_call_stub __attribute__((visibility("hidden")));
}

const allomon::process_map::CallStub allomon_call_stub = {
    {'A', 'L', 'L', 'O', 'C', 'A', 'L', '\n'},
    allomon::process_map::kCallStubVersion,
    sizeof(allomon::process_map::CallStub),
    allomon_fork_call,
    allomon_other_call,
    allomon::internal::room,
    allomon::internal::kRoomBytes,
};

// 15 is rt_sigreturn, 231 exit_group.
asm(R"(
  .pushsection .text.allomon_call_stub,"ax",@progbits
  .balign 16
  .type allomon_fork_call,@function
  .hidden allomon_fork_call
  .globl allomon_fork_call
allomon_fork_call:
  syscall
  test %eax, %eax
  jz 2f
1:
  mov $15, %eax
  syscall
  ud2
2:
  xor %edi, %edi
  mov $231, %eax
  syscall
  ud2
  .size allomon_fork_call, . - allomon_fork_call
  .type allomon_other_call,@function
  .hidden allomon_other_call
  .globl allomon_other_call
allomon_other_call:
  syscall
  jmp 1b
  .size allomon_other_call, . - allomon_other_call
  .popsection
  .pushsection .note.allomon,"a",@note
  .balign 4
  .long 8, 8, 3
  .asciz "Allomon"
  .quad allomon_call_stub - .
  .popsection
)");

#endif
