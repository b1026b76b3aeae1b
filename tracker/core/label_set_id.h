// Ids of interned sets of labels.
#ifndef ALLOMON_TRACKER_CORE_LABEL_SET_ID_H_
#define ALLOMON_TRACKER_CORE_LABEL_SET_ID_H_

#include <cstdint>

namespace allomon::internal {

// Dense: ids count from 1 in order of first appearance. 0 is the empty set.
using LabelSetId = uint32_t;

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_LABEL_SET_ID_H_
