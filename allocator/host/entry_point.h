// The functions that allocate and free a block, in three families.  Only a guarded block remembers
// its family; guarded_block.cc says which families may free it.
//
// The slow paths get the entry point as an argument, so the fast paths never set it up.
#ifndef ALLOMON_ALLOCATOR_HOST_ENTRY_POINT_H_
#define ALLOMON_ALLOCATOR_HOST_ENTRY_POINT_H_

#include <cstddef>
#include <cstdint>

// Call stacks leave out the code of this section at their innermost end, so that a stack begins
// with the caller of malloc or of operator new.
#define ALLOMON_MALLOC_SECTION __attribute__((section("allomon_malloc")))
#define ALLOMON_MALLOC_SLOW ALLOMON_MALLOC_SECTION __attribute__((noinline))

namespace allomon::internal {

enum class EntryPoint : uint8_t {
  kMalloc,    // malloc, calloc, realloc, the aligned ones; free, realloc
  kNew,       // operator new; operator delete
  kNewArray,  // operator new[]; operator delete[]
};

// The size of a free that names no size, as every free except sized operator delete.
inline constexpr size_t kUnknownSize = SIZE_MAX;

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_ENTRY_POINT_H_
