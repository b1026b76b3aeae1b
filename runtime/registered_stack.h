// Coroutines whose functions hold references.
//
//   gc::RegisteredStack stack(memory, size);      // makecontext() gets the same memory
//   ...
//   gc::LeaveStack();  // before each switch, in the function that switches
//   swapcontext(&here, &there);
//
// The collector looks for references on the stack that a thread runs on, and on its own.  Of other
// stacks it must be told, and of where the functions on them were left.
#ifndef ALLOMON_RUNTIME_REGISTERED_STACK_H_
#define ALLOMON_RUNTIME_REGISTERED_STACK_H_

#include <cstddef>

#include "runtime/internal/stand_point.h"

namespace allomon::gc {

namespace internal {
class HeapCore;
struct CoroutineStack;
// The thread leaves the stack that the point is on.
void NoteLeft(const StandPoint& point, uintptr_t frame_end);
}  // namespace internal

// A stack of the heap that the thread is attached to, until it is destroyed.  Any attached thread
// of the heap may run on it.  As long as no function on it has called LeaveStack(), the whole of it
// is scanned.  Aborts with rule.attached.  Throws std::bad_alloc.  Cost: none but the scan.
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

// Called right before a thread goes from one stack to another, in the function that calls
// swapcontext() or the like.  What it notes is used until the stack is left again.  Throws
// std::bad_alloc.  Cost: some 20 ns, and the words of the calling frame.
__attribute__((always_inline)) inline void LeaveStack() {
  internal::StandPoint point;
  internal::StandHere(point);
  internal::NoteLeft(point, reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_REGISTERED_STACK_H_
