// Ages: lifetimes of freed blocks, or ages of live ones.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_AGES_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_AGES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::views {

inline constexpr size_t kAgeBuckets = 65;
// Indexed by log2; larger ages count in the last element.
using AgeHistogram = std::array<heap::Estimate, kAgeBuckets>;

inline size_t AgeBucket(uint8_t log2) { return log2 < kAgeBuckets ? log2 : kAgeBuckets - 1; }

// Returns the age that half of the bytes did not reach: the geometric middle of its class.  0 if
// the histogram is empty.
double MedianAge(const AgeHistogram& histogram);

// Returns the part of a class of ages (in nanoseconds, by log2) that is younger than `nanos`.
// Assumes that ages are spread evenly within a class.
double YoungerShare(uint8_t log2_nanos, double nanos);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_AGES_H_
