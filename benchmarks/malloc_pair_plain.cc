// The program with a malloc that cannot sample: see malloc_pair.h.
#include "benchmarks/malloc_pair.h"

namespace allomon::benchmarks {

bool StartSampling(double) { return false; }
bool StopSampling() { return false; }

}  // namespace allomon::benchmarks
