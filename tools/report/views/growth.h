// Computes the growth of old generations: bytes that were allocated some time ago and are still
// live, minus bytes that died old in the same time.
//
// Ages are known to a factor of two (heap::AgeCell).  For a run of T nanoseconds, 2^c <= T <
// 2^(c+1), the growth is measured in the generations from 2^(c-3) to 2^(c-1).  Younger blocks may
// still die, and older ones show an earlier state of the program.  A leak has in these generations
// what it leaked in their time.  A cache that was full before has nothing in them.  If blocks die
// at some age, no more bytes are in them than die in a time of the same length.
//
// Load comes in bursts: if the program allocated little in the time of these generations, they say
// nothing.  Then they are chosen by what was allocated since, and time counts only as far as the
// program allocated.  A pause at the end leaves all ages close together, so their borders are
// eighths of a power of two there, which a recording knows of live blocks.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_GROWTH_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_GROWTH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::views {

// The generations in which growth is measured.  `nanos` is 0 if there are none: the run is shorter
// than 16 ns.
//
// A border is in eighths of a power of two: the age 2^(border / 8) nanoseconds.
struct Generations {
  int first = 0;         // border; ages from here on are old
  int end = 0;           // border; end of the measured generations
  double nanos = 0;      // the time that they span
  double old_nanos = 0;  // from the run's begin to the latest birth of a block that is old now
  // The same two, where time counts only as far as the program allocated.
  double work_nanos = 0;
  double old_work_nanos = 0;
  double eighth_nanos = 0;  // the age since which an eighth of the run passed, or of its allocation
  double half_nanos = 0;    // the same for a half
  bool is_by_allocation = false;  // chosen by it, since there was little of it in those by time
  // The program allocated next to nothing in them, which are by time: only what surely grows there
  // is told.
  bool is_silent = false;
};
// `timeline` may be empty: then allocation is taken to be even.  `has_eighths`: ages of live blocks
// are known to an eighth of a power of two.
Generations GenerationsOf(double run_nanos, const std::vector<heap::TimelinePoint>& timeline,
                          bool has_eighths);

// Returns the bytes allocated from the start until then.  Between two points of the timeline the
// allocation is taken to be even.  0 if there is no timeline.
double AllocatedUntil(const std::vector<heap::TimelinePoint>& timeline, double seconds);

// The amounts of a function's blocks.
struct Growth {
  heap::Estimate live;    // of all ages
  heap::Estimate recent;  // part of `live` in the measured generations
  heap::Estimate old;     // part of `live` in these and all older ones
  heap::Estimate died;    // blocks that died old

  void Add(const heap::Sample& sample, const heap::Sampling& sampling,
           const Generations& generations);
  void Add(const Growth& other);
};

// Bytes that become old per second, minus bytes that die old per second.
struct GrowthRate {
  double bytes = 0;
  heap::Interval interval;  // contains the true rate in 95 of 100 runs; may begin below 0
};
GrowthRate RateOf(const Growth& growth, const Generations& generations);

// True if memory grew before and has stopped: the rate is now less than a quarter of the run's
// mean, also where time counts only as far as the program allocated.
bool HasStopped(const Growth& growth, const Generations& generations);

// True if memory grows for sure, and has not stopped.
bool SurelyGrows(const Growth& growth, const Generations& generations);

// ---- Tables that are copied into larger ones when they are full: vectors, hash tables, Python's
// dicts.  The death of such a block is no sign of a cache, and its birth is no growth of its size:
// the table before it was nearly as large.

// A sample, and how many of the innermost frames of its stack tell where its blocks are allocated:
// up to the call in the function that is charged.  Callers of that do not matter to a table.
struct Site {
  const heap::Sample* sample;
  size_t frames;
};

// Returns for each sample whether the blocks of its site, of all sizes, threads and labels, are
// tables that have grown in steps:
//   - nine tenths of the bytes that died old are of blocks smaller than those that hold nine tenths
//     of the live bytes;
//   - two fifths of the bytes that died, or more, died old;
//   - no more blocks died old than live tables can have outgrown: each lived longer than an eighth
//     of the run, one after the other;
//   - live blocks are known as well as by ten samples, and their sizes are.
// Of a cache as many bytes die in large blocks as in small ones, and more blocks die.
//
// None is if no growth is known (Generations::nanos).  Takes n log n comparisons of stacks.
std::vector<bool> GrowInSteps(const std::vector<Site>& sites, const heap::Sampling& sampling,
                              const Generations& generations);

// ---- Ages: lifetimes of freed blocks, or ages of live ones.

inline constexpr size_t kAgeBuckets = 65;
// Indexed by log2; larger ages count in the last element.
using AgeHistogram = std::array<heap::Estimate, kAgeBuckets>;

inline size_t AgeBucket(uint8_t log2) { return log2 < kAgeBuckets ? log2 : kAgeBuckets - 1; }

// Returns the age that half of the bytes did not reach: the geometric middle of its class.  0 if
// the histogram is empty.
double MedianAge(const AgeHistogram& histogram);

// Returns the part of a class of ages that is younger than `nanos`.  Assumes that ages are spread
// evenly within a class.
double YoungerShare(const heap::AgeCell& cell, double nanos);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_GROWTH_H_
