// Every entry point of malloc in a loop of its own, for callgrind to count (entry_costs.py).
//
//   entry_costs TIMES              nothing samples
//   entry_costs TIMES stopped      a tracker has sampled, and was stopped
//   entry_costs TIMES RATE         a tracker samples
//   entry_costs --built-with       prints what compiled it, if its malloc can sample
#include <malloc.h>
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "benchmarks/malloc_pair.h"

namespace {

constexpr size_t kSizeBytes = 64;
constexpr size_t kLargerBytes = 512;
constexpr std::align_val_t kAlignment{64};

// Keeps the compiler from seeing that the block is not used.
void* Use(void* block) {
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}

// One operation: a row of the golden file.
struct Operation {
  const char* name;
  void (*run)(long times);
};

template <typename Body>
void Repeat(long times, Body body) {
  // Other blocks of these sizes stay live: mimalloc does more when a page becomes empty.
  void* const neighbours[] = {malloc(kSizeBytes), malloc(kLargerBytes)};
  for (long i = 0; i < times; ++i) body();
  for (void* neighbour : neighbours) free(Use(neighbour));
}

// A block that stays in its place, whatever its new size.
void ReallocInPlace(long times) {
  void* block = malloc(kSizeBytes);
  Repeat(times, [&] { block = Use(realloc(block, kSizeBytes - 8)); });
  free(block);
}

void ReallocAndMove(long times) {
  Repeat(times, [] {
    void* block = Use(malloc(kSizeBytes));
    free(Use(realloc(block, kLargerBytes)));
  });
}

void UsableSize(long times) {
  void* block = malloc(kSizeBytes);
  Repeat(times, [&] { Use(reinterpret_cast<void*>(malloc_usable_size(block))); });
  free(block);
}

// Defines an operation by its name and by the statement that is executed once.
#define ALLOMON_OPERATION(name, statement)                     \
  {                                                            \
    name, [](long times) { Repeat(times, [] { statement; }); } \
  }

const Operation kOperations[] = {
    ALLOMON_OPERATION("malloc_free", free(Use(malloc(kSizeBytes)))),
    ALLOMON_OPERATION("calloc_free", free(Use(calloc(1, kSizeBytes)))),
    {"realloc_in_place", ReallocInPlace},
    {"malloc_realloc_free", ReallocAndMove},
    ALLOMON_OPERATION("reallocarray_free", free(Use(reallocarray(nullptr, 1, kSizeBytes)))),
    ALLOMON_OPERATION("aligned_alloc_free", free(Use(aligned_alloc(64, kSizeBytes)))),
    ALLOMON_OPERATION("new_delete", ::operator delete(Use(::operator new(kSizeBytes)))),
    ALLOMON_OPERATION("new_delete_sized",
                      ::operator delete(Use(::operator new(kSizeBytes)), kSizeBytes)),
    ALLOMON_OPERATION("new_delete_array", ::operator delete[](Use(::operator new[](kSizeBytes)))),
    ALLOMON_OPERATION("new_delete_nothrow",
                      ::operator delete(Use(::operator new(kSizeBytes, std::nothrow)))),
    ALLOMON_OPERATION(
        "new_delete_aligned",
        ::operator delete(Use(::operator new(kSizeBytes, kAlignment)), kSizeBytes, kAlignment)),
    {"malloc_usable_size", UsableSize},
};

bool Prepare(const char* how) {
  if (strcmp(how, "stopped") != 0) return allomon::benchmarks::StartSampling(atof(how));
  return allomon::benchmarks::StartSampling(1) && allomon::benchmarks::StopSampling();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--built-with") == 0) {
    return allomon::benchmarks::PrintWhatSamples() ? 0 : 1;
  }
  if (argc != 2 && argc != 3) {
    fputs("usage: entry_costs TIMES [stopped|RATE]; see benchmarks/entry_costs.py\n", stderr);
    return 1;
  }
  if (argc == 3 && !Prepare(argv[2])) {
    fprintf(stderr, "entry_costs: cannot sample: %s\n", argv[2]);
    return 1;
  }
  for (const Operation& operation : kOperations) {
    CALLGRIND_ZERO_STATS;
    operation.run(atol(argv[1]));
    CALLGRIND_DUMP_STATS_AT(operation.name);
  }
}
