// Linked into malloc_pair.cc and entry_costs.cc: our sampling malloc, or mimalloc's own.
#ifndef ALLOMON_BENCHMARKS_MALLOC_PAIR_H_
#define ALLOMON_BENCHMARKS_MALLOC_PAIR_H_

namespace allomon::benchmarks {

// Turns sampling on for the rest of the program.  False if this malloc cannot sample, or if it
// failed.
bool StartSampling(double rate);

// Turns sampling off.  False if it was not on.
bool StopSampling();

// Prints the program's compiler and the backend of its malloc (built_with.h).  Returns false and
// prints nothing if the malloc cannot sample.
bool PrintWhatSamples();

}  // namespace allomon::benchmarks

#endif  // ALLOMON_BENCHMARKS_MALLOC_PAIR_H_
