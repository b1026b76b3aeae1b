// How interned call stacks are named.
#ifndef ALLOMON_TRACKER_CORE_STACK_ID_H_
#define ALLOMON_TRACKER_CORE_STACK_ID_H_

#include <cstdint>

namespace allomon::internal {

// Dense: ids run from 1 in order of first appearance.  0 is the empty stack, and stands in for a
// stack that did not fit into own memory.
using StackId = uint32_t;

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_STACK_ID_H_
