// The version of mimalloc in this build, and whether we know its structures.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MIMALLOC_VERSION_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MIMALLOC_VERSION_H_

#include "mimalloc.h"

// 209 is 2.0.9, and 301 is 3.0.1.  ALLOMON_MIMALLOC_PUBLIC_API selects the public functions only.
#if (MI_MALLOC_VERSION == 209 || MI_MALLOC_VERSION == 301) && !defined(ALLOMON_MIMALLOC_PUBLIC_API)
#define ALLOMON_MIMALLOC_IS_INLINED 1
#else
#define ALLOMON_MIMALLOC_IS_INLINED 0
#endif

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_MIMALLOC_VERSION_H_
