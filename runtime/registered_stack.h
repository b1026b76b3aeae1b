// Coroutines whose functions hold references.
//
//   gc::RegisteredStack stack(memory, size);      // makecontext() gets the same memory
//   ...
//   gc::LeaveStack();  // before each switch, in the function that switches
//   swapcontext(&here, &there);
//
// The collector scans the stack that a thread currently runs on and the thread's native stack.
// Other stacks must be registered, and each switch away from one must be announced.
#ifndef ALLOMON_RUNTIME_REGISTERED_STACK_H_
#define ALLOMON_RUNTIME_REGISTERED_STACK_H_

#include <cstddef>

#include "runtime/internal/stacks/stand_point.h"

namespace allomon::gc {

namespace internal {
class HeapCore;
struct CoroutineStack;
// Notes that the thread leaves the stack that `point` is on.
void NoteLeft(const StandPoint& point, uintptr_t frame_end);
}  // namespace internal

// Registers a stack with the heap that the thread is attached to, until destruction.  Any attached
// thread of the heap may run on it.  The whole stack is scanned until a function on it calls
// LeaveStack(), or the program says that it is empty.  Aborts with rule.attached, and with
// rule.stack where another registered stack has a part of the memory.  Throws std::bad_alloc.
// Cost: a binary search among the heap's stacks; for each collection the scan of what is in use.
class RegisteredStack {
 public:
  RegisteredStack(void* lowest, size_t size_bytes);
  // No thread runs on it.  The memory is still there.
  ~RegisteredStack();
  RegisteredStack(const RegisteredStack&) = delete;
  RegisteredStack& operator=(const RegisteredStack&) = delete;

  // Tells that no function is on the stack: one that was just made, or one in a pool.  Nothing of
  // it is scanned until a thread runs on it.  Arguments that makecontext() has put there are not
  // seen, either.  Called by an attached thread, on another stack.
  void NoteEmpty();

 private:
  internal::HeapCore* const heap_;
  internal::CoroutineStack* const stack_;
};

// Base of the promise type of a C++20 coroutine with Locals that live across a co_await:
//
//   struct promise_type : gc::ScannedFrame { ... };
//
// The coroutine's frame is then memory that is scanned like a stack, from its first word to its
// last, as long as the frame exists.  A frame is made by a thread that is attached to the heap
// (rule.attached), and is destroyed by any thread before the heap ends.  Throws std::bad_alloc.
// Cost: a lock and four words a frame; for each collection the scan.
class ScannedFrame {
 public:
  static void* operator new(size_t size_bytes);
  static void operator delete(void* memory) noexcept;
};

// Called immediately before a thread switches stacks, in the function that calls swapcontext() or
// the like.  The noted position holds until the next LeaveStack() on the same stack.  Throws
// std::bad_alloc.  Cost: some 60 ns, and the words of the calling frame.
__attribute__((always_inline)) inline void LeaveStack() {
  internal::StandPoint point;
  internal::StandHere(point);
  internal::NoteLeft(point, reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_REGISTERED_STACK_H_
