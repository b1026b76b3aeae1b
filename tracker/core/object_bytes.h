// The size of a block in a profile of allocated or of live bytes.
#ifndef ALLOMON_TRACKER_CORE_OBJECT_BYTES_H_
#define ALLOMON_TRACKER_CORE_OBJECT_BYTES_H_

#include <cstdint>

#include "tracker/allocation.h"

namespace allomon::internal {

// The header is a part of a managed object, as in MLton and in the counters of a managed heap.  The
// data that malloc keeps beside its blocks is not counted.
inline uint64_t ObjectBytes(uint64_t size_bytes, AllocationSource source) {
  const bool managed = source == AllocationSource::kNormal || source == AllocationSource::kMarshal;
  return size_bytes + (managed ? sizeof(uint64_t) : 0);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_OBJECT_BYTES_H_
