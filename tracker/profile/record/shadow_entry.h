// An entry of the shadow stack, and the thread's own stack, in which its function's frame lies.
// Both are plain data of their thread.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_SHADOW_ENTRY_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_SHADOW_ENTRY_H_

#include <cstdint>

#include "tracker/profile/record/function_counts.h"

namespace allomon::internal {

struct ShadowEntry {
  // x86-64: the address of the function's return address.  64-bit Arm: the stack pointer at the
  // function's start.  Of a scope or managed call: an address in its function's frame.
  uintptr_t frame;
  uintptr_t return_address;  // 0: a scope or a managed call, which end by themselves
  FunctionCell* cell;        // the cell to leave; null: not accounted for, or again on the stack
  uint32_t function;         // its place in the table
};

// The stack that the thread was born with.
struct StackRange {
  uintptr_t low;
  uintptr_t bytes;
  bool Contains(uintptr_t address) const { return address - low < bytes; }
};

// Reads a word of a stack, which a sanitizer may call out of bounds in other code's frames.
__attribute__((no_sanitize("address", "thread"))) inline uintptr_t StackWord(uintptr_t address) {
  return *reinterpret_cast<const volatile uintptr_t*>(address);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_SHADOW_ENTRY_H_
