#include "tracker/callstack/stack_window.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracker/base/page_size.h"

// The address at which the kernel put the first word of the main thread's stack. ld.so (and libc.a)
// exports it under a public version, though no header declares it.
extern "C" {
extern void* __libc_stack_end __attribute__((weak));
}

namespace allomon::internal {

__thread KnownStacks known_stacks __attribute__((tls_model("initial-exec")));

namespace {

// With larger pages a few probes are redundant.
constexpr uintptr_t kPageBytes = kLeastPageBytes;

// The maximum distance from sp to the end of the thread's own stack: 16 MiB.  If the first capture
// is deeper, that part of the stack is treated like a foreign one.
constexpr int kMaxOwnPages = 4096;

// The maximum size of a frame on a foreign stack: 1 MiB.
constexpr uintptr_t kMaxForeignPages = 256;

uintptr_t PageOf(uintptr_t address) { return address & ~(kPageBytes - 1); }

}  // namespace

// The kernel copies the signal set before it rejects `how`, so the call returns EFAULT or EINVAL
// and changes nothing.  This system call was chosen because every sandbox permits it, unlike
// process_vm_readv; mincore would call a guard page mapped, and a pipe needs descriptors.
bool IsReadablePage(uintptr_t page) {
  constexpr int kNoSuchHow = -1;
  // Any word of the page will do, but not its first: a set at address 0 means no set.
  const uintptr_t word = page + sizeof(uintptr_t);
  const int saved_errno = errno;
  const long result = syscall(SYS_rt_sigprocmask, kNoSuchHow, word, nullptr, 8);
  const bool readable = result == 0 || errno != EFAULT;
  errno = saved_errno;
  return readable;
}

namespace {

// An address in the stack that the thread was born with, which is mapped and above all frames.
// glibc puts a thread's control block at the upper end of its stack.  The main thread's control
// block is elsewhere, but the kernel told ld.so the end of its stack.
uintptr_t OwnStackAnchor() {
  if (syscall(SYS_gettid) == syscall(SYS_getpid)) {
    return &__libc_stack_end == nullptr ? 0 : reinterpret_cast<uintptr_t>(__libc_stack_end);
  }
#if defined(__x86_64__)
  // __builtin_thread_pointer() would not do: clang 14 has it for few targets.
  uintptr_t thread_pointer;
  __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
  return thread_pointer;
#elif defined(__aarch64__)
  return reinterpret_cast<uintptr_t>(__builtin_thread_pointer());
#else
  return 0;
#endif
}

// Returns the first page boundary in [page, limit) that cannot be read, or `limit`.  Gives up at a
// boundary kMaxOwnPages above `page`.
uintptr_t ReadableUntil(uintptr_t page, uintptr_t limit) {
  for (int i = 0; i < kMaxOwnPages && page < limit; ++i, page += kPageBytes) {
    if (!IsReadablePage(page)) return page;
  }
  return page < limit ? page : limit;
}

uintptr_t Get(const std::atomic<uintptr_t>& value) { return value.load(std::memory_order_relaxed); }

// own_low is stored first: until own_high is stored too, the range is empty for a signal handler
// that comes in between.  Later calls of this thread find the same anchor.
void LearnAnchor() {
  const uintptr_t anchor = OwnStackAnchor();
  known_stacks.own_low.store(anchor, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_release);
  known_stacks.own_high.store(anchor, std::memory_order_relaxed);
}

// True if sp is on the stack that the thread was born with: every page from sp to the part that is
// known is readable.  Any other stack is cut off from it by a guard page, or by the gap that the
// kernel keeps free below the main thread's stack.
bool ReachesOwnStack(uintptr_t sp) {
  const uintptr_t own_low = Get(known_stacks.own_low);
  if (sp >= own_low || sp < Get(known_stacks.foreign_below)) return false;
  const uintptr_t end = ReadableUntil(PageOf(sp), own_low);
  if (end < own_low) known_stacks.foreign_below.store(end, std::memory_order_relaxed);
  return end == own_low;
}

}  // namespace

void StackWindow::OpenSlow(uintptr_t sp) {
  if (Get(known_stacks.own_high) == 0) LearnAnchor();
  if (ReachesOwnStack(sp)) {
    ALLOMON_DCHECK_LT("inv.window.true", sp, Get(known_stacks.own_high));
    ALLOMON_DCHECK_LE("inv.window.true", Get(known_stacks.own_low), Get(known_stacks.own_high));
    known_stacks.own_low.store(PageOf(sp), std::memory_order_relaxed);
    high_ = Get(known_stacks.own_high);
    return;
  }
  growable_ = IsReadablePage(PageOf(sp));
  high_ = growable_ ? PageOf(sp) + kPageBytes : sp;
}

// An interrupted epilogue may have popped a register that its unwind row still calls saved: the ABI
// keeps 128 bytes below sp for the function that runs.
bool StackWindow::IsInRedZone(uintptr_t address) const {
  constexpr uintptr_t kRedZoneBytes = 128;
  return low_ - address <= kRedZoneBytes && IsReadablePage(PageOf(address));
}

bool StackWindow::Grow(uintptr_t address) {
  ALLOMON_DCHECK("inv.window.true", low_ <= address && high_ % kPageBytes == 0);
  const uintptr_t needed = address + sizeof(uintptr_t);
  if (needed < address || needed - high_ > kMaxForeignPages * kPageBytes) return false;
  while (high_ < needed) {
    if (!IsReadablePage(high_)) {
      growable_ = false;
      return false;
    }
    high_ += kPageBytes;
  }
  return true;
}

}  // namespace allomon::internal
