// Functions that are not machine code: those of a program that an interpreter runs.  A
// language runtime registers them and marks its calls; call stacks then have them among
// the interpreter's own frames, and ProcessSymbols answers with their names.
//
//   const ManagedFunction f = RegisterManagedFunction("fold", "list.ml", 12);
//   ...
//   Value Interpreter::Apply(...) {
//     const ManagedCall call(f);
//     ...
//
// In a call stack a managed frame stands directly inside the native frame of the function
// that holds its ManagedCall: before it, innermost first.  It is an address like the
// others, in a range where there is no code, so stacks stay what they are.
//
// README.md, "Managed frames", has the design.
#ifndef ALLOMON_TRACKER_CALLSTACK_MANAGED_FUNCTIONS_H_
#define ALLOMON_TRACKER_CALLSTACK_MANAGED_FUNCTIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allomon {

// A registered function, or none.  Eight bytes, valid as long as the process.
class ManagedFunction {
 public:
  ManagedFunction() = default;
  explicit operator bool() const { return address_ != 0; }

  // What stands for it in call stacks; 0 for none.
  uintptr_t address() const { return address_; }

 private:
  friend ManagedFunction RegisterManagedFunction(std::string_view name, std::string_view file,
                                                 int line);
  explicit ManagedFunction(uintptr_t address) : address_(address) {}
  uintptr_t address_ = 0;
};

// Any thread, also in a callback of a tracker; not in a signal handler.  Copies its
// arguments, never calls malloc, never frees: register a function once, not once a call.
// Cost: 48 bytes and the text; the first one reserves 112 MiB of addresses.  Returns none
// when there is no room: beyond a million functions or 64 MiB of text, or under a small
// limit of address space.  Calls of none are not seen.
ManagedFunction RegisterManagedFunction(std::string_view name, std::string_view file, int line);

// What was registered, for an address of a call stack, or one less (the byte in the call).
struct ManagedFunctionName {
  std::string_view name;
  std::string_view file;
  int line;
  uintptr_t address;  // ManagedFunction::address()
};
// False for every other address.  Any thread, any signal handler.
bool FindManagedFunction(uintptr_t address, ManagedFunctionName* name);

namespace internal {

struct ManagedEntry {
  uintptr_t frame;  // of the native function that holds the ManagedCall
  uintptr_t address;
};

// A thread's open calls, [base, top), outermost first.  All null before its first one and
// after its last.
// inv.managed.order: frames do not ascend from base to top.
// A signal handler may look at any time: base is set before top, and top cleared before
// base, so that above the base there is only what can be read.
struct ManagedStack {
  ManagedEntry* base;
  ManagedEntry* top;
  ManagedEntry* limit;
};

// See known_stacks in stack_window.h for why initial-exec and __thread.
extern __thread ManagedStack managed_stack __attribute__((tls_model("initial-exec")));

// Maps the thread's stack.  False if that fails, or was done before and it is full.
bool MakeManagedStackSlow();

// Whether this thread has open calls.  Cost: two loads of one cache line.
inline bool HasManagedCalls() { return managed_stack.top > managed_stack.base; }

// Puts the managed frames of this thread between the native ones, whose pcs are frames[0,
// count) and which lie on the stack from sps[i] to sps[i + 1].  Returns the number written
// to `merged`, at most max_frames; sets *truncated when outer ones were left out.
size_t MergeManagedFrames(const uintptr_t* frames, const uintptr_t* sps, size_t count,
                          uintptr_t* merged, size_t max_frames, bool* truncated);

}  // namespace internal

// A call of `function`, from here to the end of the block.  On the stack only; two in one
// native function nest.
//
// Exceptions and pthread_exit end it.  longjmp skips its destructor: then it is dropped
// when the next call opens further out on the stack, or at once by ManagedCallMark.
// Calls more than a million deep are not seen.  A coroutine that is switched to another
// stack must have none open.  Cost: some six instructions to open it, two to end it; 16 bytes,
// of which a thread's first call reserves 16 MiB of addresses.
class ManagedCall {
 public:
  explicit ManagedCall(ManagedFunction function, void* frame = __builtin_frame_address(0)) {
    internal::ManagedStack& stack = internal::managed_stack;
    internal::ManagedEntry* top = stack.top;
    const uintptr_t here = reinterpret_cast<uintptr_t>(frame);
    // What lies further in than this frame is gone: longjmp has left it here.
    while (__builtin_expect(top != stack.base && top[-1].frame < here, false)) --top;
    entry_ = top;
    if (__builtin_expect(top == stack.limit, false)) {
      if (!internal::MakeManagedStackSlow()) return;
      entry_ = top = stack.top;
    }
    if (!function) return;
    *top = {here, function.address()};
    // A signal handler that captures sees the entry whole or not at all.
    std::atomic_signal_fence(std::memory_order_release);
    stack.top = top + 1;
  }
  ~ManagedCall() { internal::managed_stack.top = entry_; }
  ManagedCall(const ManagedCall&) = delete;
  ManagedCall& operator=(const ManagedCall&) = delete;
  static void* operator new(size_t) = delete;

 private:
  internal::ManagedEntry* entry_;
};

// Remembers which calls of this thread are open.  After a longjmp back to here, CutBack()
// ends those made since.
class ManagedCallMark {
 public:
  ManagedCallMark() : depth_(internal::managed_stack.top - internal::managed_stack.base) {}
  void CutBack() const { internal::managed_stack.top = internal::managed_stack.base + depth_; }

 private:
  const ptrdiff_t depth_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_CALLSTACK_MANAGED_FUNCTIONS_H_
