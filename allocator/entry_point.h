// By which functions a block is taken and given back.  They form three families, and a block
// must be given back within its own; only guarded blocks remember theirs.
//
// The slow paths get it as an argument, which the fast paths therefore never set up.
#ifndef ALLOMON_ALLOCATOR_ENTRY_POINT_H_
#define ALLOMON_ALLOCATOR_ENTRY_POINT_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

enum class EntryPoint : uint8_t {
  kMalloc,    // malloc, calloc, realloc, the aligned ones; free, realloc
  kNew,       // operator new; operator delete
  kNewArray,  // operator new[]; operator delete[]
};

// The size of a free that names none: all but sized operator delete.
inline constexpr size_t kUnknownSize = SIZE_MAX;

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENTRY_POINT_H_
