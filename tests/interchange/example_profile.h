// Heap profiles for tests of formats.
#ifndef ALLOMON_TESTS_INTERCHANGE_EXAMPLE_PROFILE_H_
#define ALLOMON_TESTS_INTERCHANGE_EXAMPLE_PROFILE_H_

#include <map>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tracker/formats/output_format.h"

namespace allomon::interchange::testing {

// Returns a small profile with everything that may confuse formats: recursion, directly and over
// another function, inlined calls, locations without names, a sample without a stack, names with
// semicolons, quotes, newlines and invalid UTF-8, two threads, labels, fractions of blocks,
// lifetimes and a timeline. It has all metrics except the managed ones.
heap::HeapProfile OddProfile();

// Returns a profile with many stacks, like those of a program: functions call functions of higher
// number.
heap::HeapProfile LargeProfile(size_t stacks);

// Whether every number of the profile refers to something, in its samples and in its frames.
bool IsConsistent(const heap::HeapProfile& profile);

double TotalBytes(const heap::HeapProfile& profile, heap::Metric metric);
double TotalBlocks(const heap::HeapProfile& profile, heap::Metric metric);

// Bytes of functions by name: in all stacks that contain them, and as the innermost frame.
struct Cost {
  double inclusive = 0;
  double self = 0;
};
std::map<std::string, Cost> CostsOf(const heap::HeapProfile& profile, heap::Metric metric);

// Returns the single file of a format; the export must not fail.
std::string Export(const std::string& format, const heap::HeapProfile& profile,
                   heap::Metric metric);

}  // namespace allomon::interchange::testing

#endif  // ALLOMON_TESTS_INTERCHANGE_EXAMPLE_PROFILE_H_
