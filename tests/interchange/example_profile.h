// Heap profiles for tests of formats.
#ifndef ALLOMON_TESTS_INTERCHANGE_EXAMPLE_PROFILE_H_
#define ALLOMON_TESTS_INTERCHANGE_EXAMPLE_PROFILE_H_

#include <map>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tracker/formats/output_format.h"

namespace allomon::interchange::testing {

// Small, with all that formats stumble over: recursion, directly and over another function, inlined
// calls, locations without names, a sample without a stack, names with semicolons, quotes, newlines
// and bytes that are no UTF-8, two threads, labels, fractions of blocks, lifetimes and a timeline.
// Of metrics it has all but the managed ones.
heap::HeapProfile OddProfile();

// Of many stacks, as a program has them: functions call functions of higher number.
heap::HeapProfile LargeProfile(size_t stacks);

// A profile that says how many samples and frames are wrong has none of either: every number refers
// to something.
bool IsConsistent(const heap::HeapProfile& profile);

double TotalBytes(const heap::HeapProfile& profile, heap::Metric metric);
double TotalBlocks(const heap::HeapProfile& profile, heap::Metric metric);

// Of functions' bytes by name: in all stacks that they are on, and as the innermost.
struct Cost {
  double inclusive = 0;
  double self = 0;
};
std::map<std::string, Cost> CostsOf(const heap::HeapProfile& profile, heap::Metric metric);

// The one file of a format that must not fail.
std::string Export(const std::string& format, const heap::HeapProfile& profile,
                   heap::Metric metric);

}  // namespace allomon::interchange::testing

#endif  // ALLOMON_TESTS_INTERCHANGE_EXAMPLE_PROFILE_H_
