// What malloc_pair.cc and entry_costs.cc are linked with: our sampling malloc, or mimalloc's own.
#ifndef ALLOMON_BENCHMARKS_MALLOC_PAIR_H_
#define ALLOMON_BENCHMARKS_MALLOC_PAIR_H_

namespace allomon::benchmarks {

// Turns sampling on for the rest of the program.  False if there is none to
// turn on, or if it could not be.
bool StartSampling(double rate);

// And off again.  False if it was not on.
bool StopSampling();

}  // namespace allomon::benchmarks

#endif  // ALLOMON_BENCHMARKS_MALLOC_PAIR_H_
