// Linked into malloc_pair.cc and entry_costs.cc: our sampling malloc, or mimalloc's own.
#ifndef ALLOMON_BENCHMARKS_MALLOC_PAIR_H_
#define ALLOMON_BENCHMARKS_MALLOC_PAIR_H_

namespace allomon::benchmarks {

// Turns sampling on for the rest of the program.  False if this malloc cannot sample, or if it
// failed.
bool StartSampling(double rate);

// Turns sampling off.  False if it was not on.
bool StopSampling();

// Prints what compiled the program and what its malloc is built over (built_with.h); false, and
// nothing is printed, if the malloc cannot sample.
bool PrintWhatSamples();

}  // namespace allomon::benchmarks

#endif  // ALLOMON_BENCHMARKS_MALLOC_PAIR_H_
