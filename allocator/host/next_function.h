// The next definitions after this library in the order of symbol look-up: the functions that the
// process would call if the library were not there.  See malloc_owner.h.
//
// Thread safe.  The first call of each function takes the loader's lock.
#ifndef ALLOMON_ALLOCATOR_HOST_NEXT_FUNCTION_H_
#define ALLOMON_ALLOCATOR_HOST_NEXT_FUNCTION_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// The functions that are passed on, with their symbols.  From kNew on they are C++ operators; the
// letters are those of the Itanium C++ ABI, m for a 64-bit size_t.
#define ALLOMON_PASSED_ON(X)                                       \
  X(kMalloc, "malloc")                                             \
  X(kFree, "free")                                                 \
  X(kCalloc, "calloc")                                             \
  X(kRealloc, "realloc")                                           \
  X(kMemalign, "memalign")                                         \
  X(kMallocUsableSize, "malloc_usable_size")                       \
  X(kMallinfo2, "mallinfo2")                                       \
  X(kMallocInfo, "malloc_info")                                    \
  X(kMallocStats, "malloc_stats")                                  \
  X(kMallocTrim, "malloc_trim")                                    \
  X(kMallopt, "mallopt")                                           \
  X(kNew, "_Znwm")                                                 \
  X(kNewNothrow, "_ZnwmRKSt9nothrow_t")                            \
  X(kNewAligned, "_ZnwmSt11align_val_t")                           \
  X(kNewAlignedNothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t")      \
  X(kNewArray, "_Znam")                                            \
  X(kNewArrayNothrow, "_ZnamRKSt9nothrow_t")                       \
  X(kNewArrayAligned, "_ZnamSt11align_val_t")                      \
  X(kNewArrayAlignedNothrow, "_ZnamSt11align_val_tRKSt9nothrow_t") \
  X(kDelete, "_ZdlPv")                                             \
  X(kDeleteSized, "_ZdlPvm")                                       \
  X(kDeleteNothrow, "_ZdlPvRKSt9nothrow_t")                        \
  X(kDeleteAligned, "_ZdlPvSt11align_val_t")                       \
  X(kDeleteSizedAligned, "_ZdlPvmSt11align_val_t")                 \
  X(kDeleteAlignedNothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t")  \
  X(kDeleteArray, "_ZdaPv")                                        \
  X(kDeleteArraySized, "_ZdaPvm")                                  \
  X(kDeleteArrayNothrow, "_ZdaPvRKSt9nothrow_t")                   \
  X(kDeleteArrayAligned, "_ZdaPvSt11align_val_t")                  \
  X(kDeleteArraySizedAligned, "_ZdaPvmSt11align_val_t")            \
  X(kDeleteArrayAlignedNothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t")

enum class Function : uint8_t {
#define ALLOMON_ENUMERATOR(name, symbol) name,
  ALLOMON_PASSED_ON(ALLOMON_ENUMERATOR)
#undef ALLOMON_ENUMERATOR
};
#define ALLOMON_ONE_MORE(name, symbol) +1
inline constexpr int kFunctions = 0 ALLOMON_PASSED_ON(ALLOMON_ONE_MORE);
#undef ALLOMON_ONE_MORE

const char* NameOf(Function function);
constexpr bool IsOperator(Function function) { return function >= Function::kNew; }

// Returns nullptr if there is no such function.
void* FindNext(Function function);

template <typename Signature>
Signature* NextFunction(Function function) {
  return reinterpret_cast<Signature*>(FindNext(function));
}

// Calls the next definition after the library, with up to three arguments: a size, a pointer, an
// alignment, a const std::nothrow_t&.  Arguments that the function does not have are ignored. If
// there is no such function (a C program has no operator new, unless a plugin brings it), the
// program's malloc or free is called.  Throws what the function throws.
void* PassOn(Function function, uintptr_t first, uintptr_t second = 0, uintptr_t third = 0);

inline void* PassOn(Function function, void* block, uintptr_t second = 0, uintptr_t third = 0) {
  return PassOn(function, reinterpret_cast<uintptr_t>(block), second, third);
}

// Finds the malloc and free that the program calls, once FindNext() has found all that exists.
// Later look-ups, which are of operators, do not wait for constructors that dlopen() runs.
void FindMallocAndFree();

// Returns an operator of a C++ runtime that a plugin has loaded, or nullptr.  Defined in
// symbol_order.cc, for the preloaded library only.  Does not wait for constructors that dlopen()
// runs.
__attribute__((weak)) void* FindLoadedOperator(const char* name);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_NEXT_FUNCTION_H_
