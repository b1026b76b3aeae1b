// Throws std::bad_alloc for operator new: by the program's runtime or, in the preloaded library, by
// its host's.
#ifndef ALLOMON_ALLOCATOR_HOST_THROW_BAD_ALLOC_H_
#define ALLOMON_ALLOCATOR_HOST_THROW_BAD_ALLOC_H_

#include <new>

// The parameter of a handler for exceptions of operator new.  libc++ compares types by the address
// of their names, and the preloaded library and its host each have a copy: so there the handler
// catches everything.
#ifdef _LIBCPP_VERSION
#define ALLOMON_BAD_ALLOC ...
#else
#define ALLOMON_BAD_ALLOC const std::bad_alloc&
#endif

namespace allomon::internal {

// Throws the std::bad_alloc that the program's handlers catch.
[[noreturn]] void ThrowBadAllocSlow();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_THROW_BAD_ALLOC_H_
