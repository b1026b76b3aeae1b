// Ages: how long blocks lived, or how long those that live have lived.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_AGES_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_AGES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::views {

inline constexpr size_t kAgeBuckets = 65;
// By log2; beyond the last is the last.
using AgeHistogram = std::array<heap::Estimate, kAgeBuckets>;

inline size_t AgeBucket(uint8_t log2) { return log2 < kAgeBuckets ? log2 : kAgeBuckets - 1; }

// The value at which half of the bytes were younger: the geometric middle of its class.  0 if there
// are none.
double MedianAge(const AgeHistogram& histogram);

// The part of a class of ages (in nanoseconds, by log2) that is younger than `nanos`.  Within a
// class ages are taken for evenly spread.
double YoungerShare(uint8_t log2_nanos, double nanos);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_AGES_H_
