// Ids of interned call stacks.
#ifndef ALLOMON_TRACKER_CORE_STACK_ID_H_
#define ALLOMON_TRACKER_CORE_STACK_ID_H_

#include <cstdint>

namespace allomon::internal {

// Dense: ids count from 1 in order of first appearance. 0 is the empty stack, and also stands for a
// stack for which own memory had no room.
using StackId = uint32_t;

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_STACK_ID_H_
