// Functions that are not machine code: those of a program that an interpreter runs.  A language
// runtime registers them and marks its calls.  Call stacks then have them among the interpreter's
// own frames, and ProcessSymbols returns their names.
//
//   const ManagedFunction f = RegisterManagedFunction("fold", "list.ml", 12);
//   ...
//   Value Interpreter::Apply(...) {
//     const ManagedCall call(f);
//     ...
//
// In a call stack, innermost first, a managed frame stands directly before the native frame of the
// function that holds its ManagedCall.  It is an address like the others, in a range where there is
// no code, so a stack stays a list of addresses.
//
// README.md, "Managed frames", has the design.
#ifndef ALLOMON_TRACKER_CALLSTACK_MANAGED_FUNCTIONS_H_
#define ALLOMON_TRACKER_CALLSTACK_MANAGED_FUNCTIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allomon {

// A registered function, or no function.  Eight bytes, valid as long as the process.
class ManagedFunction {
 public:
  ManagedFunction() = default;
  explicit operator bool() const { return address_ != 0; }

  // The function's address in call stacks; 0 for no function.
  uintptr_t address() const { return address_; }

 private:
  friend ManagedFunction RegisterManagedFunction(std::string_view name, std::string_view file,
                                                 int line);
  explicit ManagedFunction(uintptr_t address) : address_(address) {}
  uintptr_t address_ = 0;
};

// Registers a function.  Any thread, also in a callback of a tracker; not in a signal handler.
// Copies its arguments, never calls malloc, never frees: a runtime registers a function once, not
// at each call.  Cost: 48 bytes and the text; the first one reserves 112 MiB of addresses.  Returns
// an empty ManagedFunction if there is no room: beyond a million functions or 64 MiB of text, or
// under a small limit of address space.  Calls of it are not seen.
ManagedFunction RegisterManagedFunction(std::string_view name, std::string_view file, int line);

// The registered function of an address in a call stack, or of one less (a byte of the call).
struct ManagedFunctionName {
  std::string_view name;
  std::string_view file;
  int line;            // current line if a walker found it (interpreters.h)
  uintptr_t address;   // ManagedFunction::address()
  uintptr_t function;  // the same for all lines of one function
};
// Returns false for every other address.  Any thread, any signal handler.
bool FindManagedFunction(uintptr_t address, ManagedFunctionName* name);

namespace internal {

// The registered functions by number: from 0, in the order of their registration.
uint32_t ManagedFunctionCount();
uint32_t ManagedFunctionNumber(uintptr_t address);  // of a registered one
// The same, but a line of an interpreted function (interpreted_code.h) also has a number, after all
// of these.
uint32_t ManagedNameNumber(uintptr_t address);
uintptr_t ManagedFunctionAddress(uint32_t number);
bool ManagedFunctionAt(uint32_t number, ManagedFunctionName* name);

struct ManagedEntry {
  uintptr_t frame;    // of the native function that holds the ManagedCall
  uintptr_t address;  // of the called function; kWatched may be set in it
};

// Flag of an address: the watcher knows that the call opened, and must be told of its end.
inline constexpr uintptr_t kWatched = 1;

// A profiler that charges by function.  Runs on the thread that makes the calls.
struct ManagedCallWatcher {
  // A call of `address` opens in the native frame `frame`; it is not on the stack yet.
  void (*open)(uintptr_t address, uintptr_t frame);
  // The calls [from, top) end.  Some may lack kWatched.
  void (*end)(const ManagedEntry* from);
};
// Null while no profiler watches.  The watcher lives for ever.
extern std::atomic<const ManagedCallWatcher*> managed_call_watcher;

// A thread's open calls, [base, top), outermost first.  Below them, at base[-1], is an entry of no
// function in a frame above all others.  All null before the thread's first call, and after the
// thread has given its memory back.
//
// Frames do not ascend from base to top (inv.managed.order).
//
// A signal handler may read it at any time.  So base is set before top, and top is cleared before
// base: above the base there are only readable entries.
struct ManagedStack {
  ManagedEntry* base;
  ManagedEntry* top;
  ManagedEntry* limit;  // readable, and of no function
  // The function whose calls are not reported to the watcher, since it is running already; 0: no
  // function.  The watcher's; it may store it on any thread.
  std::atomic<uintptr_t> running;
};

// known_stacks in stack_window.h has the reason for initial-exec and __thread.
extern __thread ManagedStack managed_stack __attribute__((tls_model("initial-exec")));

// Maps the thread's array of calls, or drops the calls whose frames lie below `frame`.  Returns
// false if the array is still full, or if there is no memory: it then has no room for a call.
bool MakeRoomForCallSlow(uintptr_t frame);

// Drops the calls whose frames lie below `frame`; returns the new top.
ManagedEntry* DropCallsBelowSlow(uintptr_t frame);

// Called before the calls [from, top) are dropped: tells the watcher, if there is one.
void EndWatchedCallsSlow(const ManagedEntry* from);

// Returns the address to store for a call that opens.  Three instructions without a watcher.  With
// a watcher, two more if a function calls itself: then the function to which memory and time are
// charged does not change, so the watcher is not told.
__attribute__((always_inline)) inline uintptr_t Watched(uintptr_t address, uintptr_t frame) {
  const ManagedCallWatcher* const watcher = managed_call_watcher.load(std::memory_order_relaxed);
  if (__builtin_expect(watcher == nullptr, true)) return address;
  if (managed_stack.running.load(std::memory_order_relaxed) == address) return address;
  watcher->open(address, frame);
  return address | kWatched;
}

// Whether this thread has open calls.  Cost: two loads of one cache line.
inline bool HasManagedCalls() { return managed_stack.top > managed_stack.base; }

// Puts the managed frames of this thread between the native ones.  The native frames have the pcs
// frames[0, count), and frame i lies on the stack from sps[i] to sps[i + 1].  Returns the number of
// frames written to `merged`, at most max_frames; sets *truncated when outer frames were left out.
size_t MergeManagedFrames(const uintptr_t* frames, const uintptr_t* sps, size_t count,
                          uintptr_t* merged, size_t max_frames, bool* truncated);

}  // namespace internal

// Marks a call of `function` until the end of the block.  Only for objects on the stack; two in one
// native function nest.
//
// Exceptions and pthread_exit end it. longjmp skips its destructor; then the call is dropped when a
// caller opens the next one, or at once by ManagedCallMark.  Calls more than a million deep are not
// seen.  A coroutine that is switched to another stack must have no open calls.  Cost: some eight
// instructions to open a call, four to end it; 16 bytes, and 16 MiB of addresses that a thread's
// first call reserves.
class ManagedCall {
 public:
  __attribute__((always_inline)) explicit ManagedCall(ManagedFunction function,
                                                      void* frame = __builtin_frame_address(0)) {
    internal::ManagedStack& stack = internal::managed_stack;
    internal::ManagedEntry* top = stack.top;
    const uintptr_t here = reinterpret_cast<uintptr_t>(frame);
    if (__builtin_expect(top == stack.limit, false)) {
      const bool has_room = internal::MakeRoomForCallSlow(here);
      entry_ = top = stack.top;
      if (!has_room) return;
    }
    // Calls whose frames lie below this one are over: longjmp has skipped their ends.
    if (__builtin_expect(top[-1].frame < here, false)) top = internal::DropCallsBelowSlow(here);
    entry_ = top;
    if (!function) {
      *top = {here, 0};
      return;
    }
    *top = {here, internal::Watched(function.address(), here)};
    // A signal handler that captures sees the entry completely or not at all.
    std::atomic_signal_fence(std::memory_order_release);
    stack.top = top + 1;
  }
  __attribute__((always_inline)) ~ManagedCall() {
    if (__builtin_expect((entry_->address & internal::kWatched) != 0, false)) {
      internal::EndWatchedCallsSlow(entry_);
    }
    internal::managed_stack.top = entry_;
  }
  ManagedCall(const ManagedCall&) = delete;
  ManagedCall& operator=(const ManagedCall&) = delete;
  static void* operator new(size_t) = delete;

 private:
  internal::ManagedEntry* entry_;
};

// Remembers which calls of this thread are open.  After a longjmp back to here, CutBack() ends
// those that were made since.
class ManagedCallMark {
 public:
  ManagedCallMark() : depth_(internal::managed_stack.top - internal::managed_stack.base) {}
  void CutBack() const {
    internal::ManagedEntry* const top = internal::managed_stack.base + depth_;
    internal::EndWatchedCallsSlow(top);
    internal::managed_stack.top = top;
  }

 private:
  const ptrdiff_t depth_;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_CALLSTACK_MANAGED_FUNCTIONS_H_
