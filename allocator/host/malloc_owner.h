// The owner of the malloc that the process calls: this library, or its host.
//
// A host may export a malloc, or an operator new, of its own: symbols are looked up in the
// executable first.  Some of our functions are still called, since hosts define only some of the
// names and not, for example, a sized operator delete or aligned_alloc.  Given a block of the
// host's, they would crash the program.  So in the preloaded library each function checks the
// owner.  If malloc is not ours, it calls the next definition after the library (next_function.h):
// the program runs as if the library were not there.
//
// The check costs the fast paths nothing.  While the answer is unknown, or is not "ours",
// comparisons that they make anyway send every call to a slow path: that of the countdown, that of
// the pointer, or that of the size which operator new inlines.
//
// The answer is found at the first call of any function of ours.  The loader makes that call,
// before there is a second thread.  The answer never changes.
//
// See "Whose malloc" in README.md.
#ifndef ALLOMON_ALLOCATOR_HOST_MALLOC_OWNER_H_
#define ALLOMON_ALLOCATOR_HOST_MALLOC_OWNER_H_

#include <cstddef>
#include <cstdint>

#include "allocator/host/high_reservation.h"

namespace allomon::internal {

// The order lets one comparison find the frequent case.
enum class MallocOwner : uint8_t {
  kUndecided,
  kHost,           // malloc is the host's, or that of a library before ours
  kHostOperators,  // malloc is ours; the host has an operator new or delete of its own
  kOurs,           // malloc is ours, and each operator new and delete
};

#define ALLOMON_HIDDEN __attribute__((visibility("hidden")))

// Written by the first call alone.
extern MallocOwner malloc_owner ALLOMON_HIDDEN;

// The bit of high_reservation.h, as the first address that has it.
inline constexpr uintptr_t kHighestSuspectsFrom = uintptr_t{1} << kHighBit;

// A pointer below these is an ordinary block of the backend.  64 TiB, where the sampled range may
// begin, if malloc (or the operators) are ours; else 1, so that every block takes the slow path.
extern uintptr_t free_suspects_from ALLOMON_HIDDEN;
extern uintptr_t delete_suspects_from ALLOMON_HIDDEN;

// operator new[] and the aligned and nothrow forms of operator new take a slow path from this size
// on. kOperatorSlowBytes if the operators are ours, else 0.
extern size_t operator_slow_bytes ALLOMON_HIDDEN;
// Larger than the sizes that backends inline.
inline constexpr size_t kOperatorSlowBytes = 1025;

// `suspects_from` is one of the two words above.  The compiler learns that a block which is no
// suspect lies below the range, so that the backend does not test that bit again.
__attribute__((always_inline)) inline bool IsSuspect(const void* block, uintptr_t suspects_from) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  if (__builtin_expect(address >= suspects_from, 0)) return true;
  if (address >= kHighestSuspectsFrom) __builtin_unreachable();
  return false;
}

// The compiler learns the constant, so that the backend does not compare again.
__attribute__((always_inline)) inline bool IsSlowForOperators(size_t size_bytes) {
  if (__builtin_expect(size_bytes >= operator_slow_bytes, 0)) return true;
  if (size_bytes >= kOperatorSlowBytes) __builtin_unreachable();
  return false;
}

// Finds the answer by reading the symbol tables of the objects that precede the library.  Takes no
// lock and calls nothing that does, unless the answer is other than kOurs: then it asks the loader
// for the next definitions after the library.
MallocOwner DecideMallocOwnerSlow();

// May be called inside malloc.  Cost: a load and a comparison, except at the first call.
inline MallocOwner WhoseMalloc() {
  if (__builtin_expect(malloc_owner == MallocOwner::kUndecided, 0)) return DecideMallocOwnerSlow();
  return malloc_owner;
}

// Whether the library must pass on every call.
inline bool StandsAside() {
  if (__builtin_expect(malloc_owner > MallocOwner::kHost, 1)) return false;
  return WhoseMalloc() == MallocOwner::kHost;
}
inline bool OperatorsAreOurs() { return WhoseMalloc() == MallocOwner::kOurs; }

// Returns the path of the first object before the library that defines a function of this name, ""
// for the executable, nullptr without one.  Defined in symbol_order.cc, for the preloaded library
// only.  Elsewhere our malloc is the executable's own, and comes first.
__attribute__((weak)) const char* DefinerInFront(const char* name);

// Returns the path of the first object after the library that defines a function of this name;
// nullptr if that is the C library.  Defined in the preloaded library only.
__attribute__((weak)) const char* DefinerBehind(const char* name);

// Returns the object whose malloc the process calls; nullptr if malloc is ours.
const char* OwnerOfMalloc();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_MALLOC_OWNER_H_
