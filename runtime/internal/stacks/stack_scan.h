// The words of native stacks, each of which may refer to a managed object.
//
// The stack is scanned conservatively: Shahriyar and others, "Fast Conservative Garbage Collection"
// (OOPSLA 2014), measure what that keeps alive.
#ifndef ALLOMON_RUNTIME_INTERNAL_STACKS_STACK_SCAN_H_
#define ALLOMON_RUNTIME_INTERNAL_STACKS_STACK_SCAN_H_

#include <cstddef>
#include <cstdint>

#include "runtime/internal/space/memory.h"
#include "runtime/internal/stacks/stand_point.h"

// The scanner reads other threads' frames, between variables and in them.
#define ALLOMON_GC_SCANS \
  __attribute__((noinline, no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

namespace allomon::gc::internal {

// [low, high), in which a stack grows downwards.
struct StackRange {
  uintptr_t low = 0;
  uintptr_t high = 0;
  bool Contains(uintptr_t address) const { return address >= low && address < high; }
  size_t size_bytes() const { return high - low; }
};

// Returns the stack that the system has given to this thread.
StackRange OwnStack();
// Returns the stack of the process's first thread, by the limit when the program began.
StackRange FirstStack();
// Whether the stack is mapped from the address on, even if it has grown beyond its range.
bool ReachesDownTo(const StackRange& stack, uintptr_t address);
// Returns the alternate signal stack if this thread is on it; otherwise an empty range.
StackRange SignalStack();

// The state of a stack at a point where its thread stands or has left it.
struct ScannedStack {
  StandPoint point;
  // Words of the frame that saved the point, if that frame may continue, as in a NativeRegion.
  Vector<uintptr_t> frame_words;
  void* fake_stack = nullptr;  // the address sanitizer's

  // Forgets the state: the thread runs, or its stack is empty.
  void Clear() {
    point.stack_pointer = 0;
    frame_words.clear();
  }
  // Notes the words of the frame between the stack pointer of `point` and `frame_end`.  Throws
  // std::bad_alloc.
  void KeepFrame(uintptr_t frame_end);
  void NoteFakeStack();
};

// Takes words that may refer to objects.
class WordVisitor {
 public:
  virtual ~WordVisitor() = default;
  // Receives words of a stack or of registers.
  virtual void Visit(const uintptr_t* begin, const uintptr_t* end) = 0;
};

// Visits the registers, the words from the stack pointer up to `high`, and the sanitizer's fake
// frames that these refer to.
void ScanStack(const ScannedStack& stack, uintptr_t high, WordVisitor& visitor);
// Returns the lowest word on the stack in [low, high) that is an address in `other`; the end of
// `other` if there is no such word.  On a signal stack the interrupted stack pointer is one of the
// words.
uintptr_t LowestAddressOf(const StackRange& other, uintptr_t low, uintptr_t high);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_STACKS_STACK_SCAN_H_
