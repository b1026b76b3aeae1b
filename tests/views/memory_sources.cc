// Takes memory from several sources, each in a function of its own.
//
//   memory_sources FILE: records itself at rate 1.  The memory stays.
#include <allomon/custom_memory.h>
#include <allomon/recording.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#define KEPT __attribute__((noinline))

namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Lets no block be optimized away.
void Use(volatile void* block) { asm volatile("" : : "r"(block) : "memory"); }

KEPT void ByMalloc() { Use(malloc(4 * kMiB)); }
KEPT void ByNew() { Use(new char[1 * kMiB]); }
KEPT void Mapping() {
  Use(mmap(nullptr, 8 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
KEPT void Reporting() { allomon_custom_memory_report(2 * kMiB); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  allomon_recording_options options = ALLOMON_RECORDING_DEFAULTS;
  options.path = argv[1];
  options.rate = 1;
  allomon_recording recording = 0;
  if (allomon_recording_start(&options, &recording) != ALLOMON_OK) return 1;
  ByMalloc();
  ByNew();
  Mapping();
  Reporting();
  return allomon_recording_stop(recording) == ALLOMON_OK ? 0 : 1;
}
