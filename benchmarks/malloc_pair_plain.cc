// A malloc that cannot sample (malloc_pair.h).
#include "benchmarks/malloc_pair.h"

namespace allomon::benchmarks {

bool StartSampling(double) { return false; }
bool StopSampling() { return false; }
bool PrintWhatSamples() { return false; }

}  // namespace allomon::benchmarks
