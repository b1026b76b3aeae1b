// Evaluates the DWARF expressions (DWARF 5 section 2.5) that unwind tables use: for signal frames,
// procedure linkage tables, and functions that realign their stack.
//
// No allocation, no lock, async-signal-safe; memory is read through the window only.  Cost: a few
// ns per operation; at most 1000 operations.
#ifndef ALLOMON_TRACKER_CALLSTACK_CFI_EXPRESSION_H_
#define ALLOMON_TRACKER_CALLSTACK_CFI_EXPRESSION_H_

#include <cstdint>

#include "tracker/base/byte_reader.h"
#include "tracker/base/frame_state.h"
#include "tracker/callstack/stack_window.h"

namespace allomon::internal {

// Sets *value to the top of the expression's stack at its end.  `initial` is pushed first if
// `push_initial`: rules of registers start with the CFA on the stack, the CFA's own rule with an
// empty stack.  False for an unknown operation or register, a read outside of the window, or a
// malformed expression.
[[nodiscard]] bool EvaluateCfiExpression(ByteReader expression, const FrameState& registers,
                                         bool push_initial, uintptr_t initial, StackWindow* window,
                                         uintptr_t* value);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_CFI_EXPRESSION_H_
