// Adds the mapped blocks to the usage of every version.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_USAGE_OF_MAPPINGS_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_USAGE_OF_MAPPINGS_H_

#include "allocator/backends/heap_usage.h"
#include "allocator/backends/mimalloc/mapped_table.h"

namespace allomon::backend {

inline Usage UsageOfMappings() {
  const MappedTotal mapped = TotalOfMappings();
  Usage usage;
  usage.large_blocks = mapped.blocks;
  usage.large_bytes = mapped.bytes;
  return usage;
}

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_USAGE_OF_MAPPINGS_H_
