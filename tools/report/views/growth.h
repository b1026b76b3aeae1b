// How fast old generations grow: what was allocated some time ago and is live still, less what died
// old meanwhile.
//
// Ages are known to a factor of two (heap::AgeCell).  Of a run of T nanoseconds, 2^c <= T <
// 2^(c+1), the generations from 2^(c-3) to 2^(c-1) are looked at: younger blocks may die yet, and
// older ones say how it was before.  What a leak has in them is what it leaks in their time; a
// cache that was full before has nothing; and of blocks that die at some age no more is in them
// than dies in as long a time.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_GROWTH_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_GROWTH_H_

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::views {

// The generations of a run.  It has none (nanos is 0) where the run is shorter than 16 ns.
struct Generations {
  int first_log2 = 0;    // ages that are old
  int end_log2 = 0;      // of the generations that are looked at
  double nanos = 0;      // that these span
  double old_nanos = 0;  // from the run's begin to where blocks are old now
};
Generations GenerationsOf(double run_nanos);

// Of the blocks of a function.
struct Growth {
  heap::Estimate live;    // of all ages
  heap::Estimate recent;  // of it, in the generations that are looked at
  heap::Estimate old;     // of it, in these and all before
  heap::Estimate died;    // when they were old

  void Add(const heap::Sample& sample, const heap::Sampling& sampling,
           const Generations& generations);
  void Add(const Growth& other);
};

// Bytes that become old in a second, less those that die then.
struct GrowthRate {
  double bytes = 0;
  heap::Interval interval;  // holds the truth in 95 of 100 runs; may begin below 0
};
GrowthRate RateOf(const Growth& growth, const Generations& generations);

// Whether it grew before and has stopped: now it is less than a quarter of the run's mean.
bool HasStopped(const Growth& growth, const Generations& generations);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_GROWTH_H_
