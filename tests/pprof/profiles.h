// Heap profiles for tests.
#ifndef ALLOMON_TESTS_PPROF_PROFILES_H_
#define ALLOMON_TESTS_PPROF_PROFILES_H_

#include <cstdint>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof::testing {

// Returns a profile with every kind of content, small enough to be inspected.
heap::HeapProfile SmallProfile();

// Returns a profile of `samples` samples with different stacks and whole amounts.  The same seed
// gives the same profile.
heap::HeapProfile RandomProfile(int samples, uint32_t seed);

// Fails the test if the two differ in more than the fractions of the samples' amounts.
void ExpectSame(const heap::HeapProfile& expected, const heap::HeapProfile& actual);

}  // namespace allomon::pprof::testing

#endif  // ALLOMON_TESTS_PPROF_PROFILES_H_
