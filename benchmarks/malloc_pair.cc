// malloc and free in a loop, to count instructions or nanoseconds (fast_path.py).
//
//   malloc_pair PAIRS SIZE [RATE]    with RATE, sampling is on
//   malloc_pair --built-with       prints what compiled it, if its malloc can sample
#include "benchmarks/malloc_pair.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Keeps the compiler from seeing that the block is not used.
void Use(void* block) { asm volatile("" ::"r"(block) : "memory"); }

void RunPairs(long pairs, size_t size_bytes) {
  // Another block of the size stays live: mimalloc does more when a page becomes empty.
  void* neighbour = malloc(size_bytes);
  Use(neighbour);
  for (long i = 0; i < pairs; ++i) {
    void* block = malloc(size_bytes);
    Use(block);
    free(block);
  }
  free(neighbour);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--built-with") == 0) {
    return allomon::benchmarks::PrintWhatSamples() ? 0 : 1;
  }
  if (argc != 3 && argc != 4) {
    fputs("usage: malloc_pair PAIRS SIZE [RATE]; see benchmarks/fast_path.py\n", stderr);
    return 1;
  }
  if (argc == 4 && !allomon::benchmarks::StartSampling(atof(argv[3]))) {
    fprintf(stderr, "malloc_pair: cannot sample at rate %s\n", argv[3]);
    return 1;
  }
  RunPairs(atol(argv[1]), strtoul(argv[2], nullptr, 10));
}
