// What live samples cost in memory, and whether a free costs more the more there are.
//
//   sample_memory [LIVE...]      default: 1000 10000 100000 1000000
//
// Each number of live samples (64 bytes, rate 1, 8 frames) in a process of its own:
//   own       bytes of the tracker's own memory per sample, from its account
//   resident  bytes that the process has grown by, less the blocks' 64
//   pair      ns of processor time for a further sample and its free while they live
//   free      ns of processor time to free them, oldest first
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "allocator/allocator.h"
#include "tracker/internal/own_memory.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

constexpr size_t kBlockBytes = 64;

struct Keeping {
  std::optional<int> alloc_major(const Allocation&) { return 1; }
};

double ProcessorNs() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double ResidentBytes() {
  FILE* file = fopen("/proc/self/statm", "r");
  long pages = 0;
  if (file == nullptr || fscanf(file, "%*s %ld", &pages) != 1) abort();
  fclose(file);
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

__attribute__((noinline)) void* AllocateDeep(int depth) {
  void* block = depth == 0 ? SamplingMalloc(kBlockBytes) : AllocateDeep(depth - 1);
  asm volatile("" : : : "memory");  // no tail call
  return block;
}

void Measure(size_t live) {
  StartOptions options;
  options.callstack_size = 8;
  options.seed = 1;
  if (!Tracker::start(1, Keeping(), options).ok()) abort();
  std::vector<void*> blocks(live);
  for (void*& block : blocks) block = &block;  // so that the vector is resident
  const double resident_before = ResidentBytes();
  const size_t own_before = internal::OwnMemory::mapped_bytes();
  for (void*& block : blocks) {
    block = AllocateDeep(8);
    memset(block, 1, kBlockBytes);
  }
  const double count = static_cast<double>(live);
  const double own = static_cast<double>(internal::OwnMemory::mapped_bytes() - own_before);
  const double resident = ResidentBytes() - resident_before;
  constexpr int kPairs = 1000000;
  const double before_pairs = ProcessorNs();
  for (int i = 0; i < kPairs; ++i) SamplingFree(AllocateDeep(8));
  const double before_free = ProcessorNs();
  for (void* block : blocks) SamplingFree(block);
  const double behind_free = ProcessorNs();
  printf("%9zu %8.1f %9.1f %6.1f %6.1f\n", live, own / count, resident / count - kBlockBytes,
         (before_free - before_pairs) / kPairs, (behind_free - before_free) / count);
}

void MeasureInChild(size_t live) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    Measure(live);
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) abort();
}

}  // namespace
}  // namespace allomon

int main(int argc, char** argv) {
  printf("%9s %8s %9s %6s %6s\n", "live", "own", "resident", "pair", "free");
  for (int i = 1; i < argc; ++i) allomon::MeasureInChild(strtoul(argv[i], nullptr, 10));
  if (argc > 1) return 0;
  for (const size_t live : {1000, 10000, 100000, 1000000}) allomon::MeasureInChild(live);
}
