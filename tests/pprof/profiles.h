// Heap profiles for tests.
#ifndef ALLOMON_TESTS_PPROF_PROFILES_H_
#define ALLOMON_TESTS_PPROF_PROFILES_H_

#include <cstdint>

#include "tools/heap/heap_profile.h"

namespace allomon::pprof::testing {

// One that has something of everything, small enough to be looked at.
heap::HeapProfile SmallProfile();

// So many samples of different stacks, with whole amounts.  The same seed gives the same profile.
heap::HeapProfile RandomProfile(int samples, uint32_t seed);

// Fails the test where the two differ in more than the fractions of samples' amounts.
void ExpectSame(const heap::HeapProfile& expected, const heap::HeapProfile& actual);

}  // namespace allomon::pprof::testing

#endif  // ALLOMON_TESTS_PPROF_PROFILES_H_
