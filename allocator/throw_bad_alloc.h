// How operator new throws: as the program does, or, in the preloaded library, as its host does.
#ifndef ALLOMON_ALLOCATOR_THROW_BAD_ALLOC_H_
#define ALLOMON_ALLOCATOR_THROW_BAD_ALLOC_H_

namespace allomon::internal {

// Throws the std::bad_alloc that the program's handlers catch.
[[noreturn]] void ThrowBadAllocSlow();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_THROW_BAD_ALLOC_H_
