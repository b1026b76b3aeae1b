// The rare end of the nothrow forms of operator new: calls the new-handlers.
#ifndef ALLOMON_ALLOCATOR_OVERRIDES_NOTHROW_RETRY_H_
#define ALLOMON_ALLOCATOR_OVERRIDES_NOTHROW_RETRY_H_

#include <cstddef>

#include "allocator/sampled_block.h"

namespace allomon::internal {

// Retries while a new-handler is installed.  nullptr when there is no handler, or when the handler
// throws bad_alloc.
ALLOMON_MALLOC_SLOW void* RetryNothrowSlow(size_t size_bytes, EntryPoint entry) noexcept;
ALLOMON_MALLOC_SLOW void* RetryNothrowAlignedSlow(size_t alignment_bytes, size_t size_bytes,
                                                  EntryPoint entry) noexcept;

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_OVERRIDES_NOTHROW_RETRY_H_
