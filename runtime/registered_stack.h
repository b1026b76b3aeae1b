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
// LeaveStack().  Aborts with rule.attached.  Throws std::bad_alloc.  Cost: the scan.
class RegisteredStack {
 public:
  RegisteredStack(void* lowest, size_t size_bytes);
  // No thread runs on it.
  ~RegisteredStack();
  RegisteredStack(const RegisteredStack&) = delete;
  RegisteredStack& operator=(const RegisteredStack&) = delete;

 private:
  internal::HeapCore* const heap_;
  internal::CoroutineStack* const stack_;
};

// Called immediately before a thread switches stacks, in the function that calls swapcontext() or
// the like.  The noted position holds until the next LeaveStack() on the same stack.  Throws
// std::bad_alloc.  Cost: some 20 ns, and the words of the calling frame.
__attribute__((always_inline)) inline void LeaveStack() {
  internal::StandPoint point;
  internal::StandHere(point);
  internal::NoteLeft(point, reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_REGISTERED_STACK_H_
