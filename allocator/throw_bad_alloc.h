// How operator new throws: by the program's runtime, or, in the preloaded library, by its host's.
#ifndef ALLOMON_ALLOCATOR_THROW_BAD_ALLOC_H_
#define ALLOMON_ALLOCATOR_THROW_BAD_ALLOC_H_

namespace allomon::internal {

// Throws the std::bad_alloc that the program's handlers catch.
[[noreturn]] void ThrowBadAllocSlow();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_THROW_BAD_ALLOC_H_
