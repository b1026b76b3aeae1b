#include "runtime/internal/stacks/stack_scan.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/internal/space/poison.h"
#include "runtime/internal/space/window.h"

extern "C" void* __libc_stack_end __attribute__((weak));
#ifdef ALLOMON_GC_POISONS
extern "C" void* __asan_get_current_fake_stack();
extern "C" void* __asan_addr_is_in_fake_stack(void* fake_stack, void* address, void** begin,
                                              void** end);
#endif

namespace allomon::gc::internal {
namespace {

constexpr size_t kWord = sizeof(uintptr_t);

const uintptr_t* WordsAt(uintptr_t address) { return reinterpret_cast<const uintptr_t*>(address); }

#ifdef ALLOMON_GC_POISONS
// Locals may lie in fake frames that the sanitizer has allocated, to find uses after return.
ALLOMON_GC_SCANS void ScanFakeFrames(void* fake_stack, const uintptr_t* begin, const uintptr_t* end,
                                     WordVisitor& visitor) {
  if (fake_stack == nullptr) return;
  for (const uintptr_t* word = begin; word < end; ++word) {
    void* from = nullptr;
    void* to = nullptr;
    void* const address = reinterpret_cast<void*>(*word);
    if (__asan_addr_is_in_fake_stack(fake_stack, address, &from, &to) == nullptr) continue;
    visitor.Visit(static_cast<uintptr_t*>(from), static_cast<uintptr_t*>(to));
  }
}
#endif

void ScanWords(void* fake_stack, const uintptr_t* begin, const uintptr_t* end,
               WordVisitor& visitor) {
  visitor.Visit(begin, end);
#ifdef ALLOMON_GC_POISONS
  ScanFakeFrames(fake_stack, begin, end, visitor);
#else
  static_cast<void>(fake_stack);
#endif
}

}  // namespace

// The kernel leaves at least this much below the first thread's stack (MIN_GAP), whatever its
// limit.
static constexpr size_t kLeastStackBytes = size_t{128} << 20;
// The most bytes assumed for a stack without a limit.  Other mappings are then farther away.
static constexpr size_t kMostStackBytes = size_t{1} << 40;

// The stack limit when the program began: the kernel has left that much room below the stack.
// After a later increase of the limit, the range below may contain other mappings and stacks.
static size_t g_first_stack_bytes = kLeastStackBytes;

__attribute__((constructor(101))) static void NoteStackLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return;
  g_first_stack_bytes = std::clamp<size_t>(limit.rlim_cur, kLeastStackBytes, kMostStackBytes);
}

// Uses neither /proc, which a sandbox may forbid, nor malloc, which may call a tracker.
StackRange FirstStack() {
  if (&__libc_stack_end == nullptr) return {};
  const uintptr_t high = reinterpret_cast<uintptr_t>(__libc_stack_end);
  return {high - std::min(g_first_stack_bytes, high), high};
}

// A gap always separates a stack from the mapping below it, so msync fails on an unmapped page.
// Calls the kernel directly, because the C library's msync() is a cancellation point.
bool ReachesDownTo(const StackRange& stack, uintptr_t address) {
  if (address >= stack.low) return address < stack.high;
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t from = address / page * page;
  return syscall(SYS_msync, from, stack.high - from, MS_ASYNC) == 0;
}

static StackRange WholeStack() {
  const StackRange first = FirstStack();
  if (first.Contains(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)))) return first;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
    // A sandbox refuses a system call of pthread_getattr_np.  glibc's thread control block is at
    // the high end of the stack.
    const uintptr_t high = pthread_self();
    return {high - kLeastStackBytes, high};
  }
  void* low = nullptr;
  size_t size_bytes = 0;
  pthread_attr_getstack(&attributes, &low, &size_bytes);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<uintptr_t>(low), reinterpret_cast<uintptr_t>(low) + size_bytes};
}

StackRange OwnStack() {
  StackRange range = WholeStack();
  // Thread-local storage lies above the thread's frames; the window's cursor in it would keep the
  // last object alive.
  const uintptr_t window = reinterpret_cast<uintptr_t>(&t_window);
  if (range.Contains(window)) range.high = window;
  return range;
}

StackRange SignalStack() {
  stack_t stack = {};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) == 0) return {};
  const uintptr_t low = reinterpret_cast<uintptr_t>(stack.ss_sp);
  return {low, low + stack.ss_size};
}

ALLOMON_GC_SCANS void ScannedStack::KeepFrame(uintptr_t frame_end) {
  frame_words.clear();
  // Values below the page size are no addresses.
  for (uintptr_t at = point.stack_pointer; at < frame_end; at += kWord) {
    const uintptr_t word = *WordsAt(at);
    if (word >= 4096) frame_words.push_back(word);
  }
}

void ScannedStack::NoteFakeStack() {
#ifdef ALLOMON_GC_POISONS
  fake_stack = __asan_get_current_fake_stack();
#endif
}

void ScanStack(const ScannedStack& stack, uintptr_t high, WordVisitor& visitor) {
  if (stack.point.stack_pointer == 0) return;
  const uintptr_t* const registers = stack.point.registers;
  ScanWords(stack.fake_stack, registers, registers + kSavedRegisters, visitor);
  const uintptr_t* const words = stack.frame_words.data();
  ScanWords(stack.fake_stack, words, words + stack.frame_words.size(), visitor);
  const uintptr_t low = stack.point.stack_pointer / kWord * kWord;
  ScanWords(stack.fake_stack, WordsAt(low), WordsAt(high), visitor);
}

ALLOMON_GC_SCANS uintptr_t LowestAddressOf(const StackRange& other, uintptr_t low, uintptr_t high) {
  uintptr_t lowest = other.high;
  for (uintptr_t at = low / kWord * kWord; at < high; at += kWord) {
    const uintptr_t word = *WordsAt(at);
    if (other.Contains(word)) lowest = std::min(lowest, word);
  }
  return lowest;
}

}  // namespace allomon::gc::internal
