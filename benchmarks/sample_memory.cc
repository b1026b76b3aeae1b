// The memory that live samples take, and whether a free costs more when there are more of them.
//
//   sample_memory [LIVE...]      default: 1000 10000 100000 1000000
//   sample_memory threads COUNT  COUNT threads at once, with live blocks of 64 bytes: the memory
//                                resident for each if it has 8 blocks and all are
//                                sampled, if 8 in 1000 are, and without a tracker
//
// Each number of live samples (64 bytes, rate 1, 8 frames) in a process of its own:
//   own       bytes of the tracker's own memory per sample, by its own count
//   resident  growth of the process in bytes per sample, less the blocks' 64
//   pair      ns of processor time for a further sample and its free while they live
//   free      ns of processor time to free them, oldest first
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "allocator/allocator.h"
#include "tracker/base/own_memory.h"
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
  for (void*& block : blocks) block = &block;  // makes the vector resident
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

constexpr size_t kMaxThreads = 1000;
constexpr size_t kMaxLivePerThread = 1000;

// The number of blocks of every thread of a measurement.  Written before the threads start.
size_t g_live_per_thread = 0;
pthread_barrier_t g_all_allocated;
pthread_barrier_t g_measured;

void* HoldBlocks(void*) {
  void* blocks[kMaxLivePerThread];
  for (size_t i = 0; i < g_live_per_thread; ++i) {
    blocks[i] = AllocateDeep(8);
    memset(blocks[i], 1, kBlockBytes);
  }
  pthread_barrier_wait(&g_all_allocated);
  pthread_barrier_wait(&g_measured);
  for (size_t i = 0; i < g_live_per_thread; ++i) SamplingFree(blocks[i]);
  return nullptr;
}

// Resident bytes per thread: its stack, the backend's heap and the tracker's memory.
double ResidentPerThread(size_t count) {
  pthread_t threads[kMaxThreads];
  pthread_barrier_init(&g_all_allocated, nullptr, static_cast<unsigned>(count) + 1);
  pthread_barrier_init(&g_measured, nullptr, static_cast<unsigned>(count) + 1);
  const double before = ResidentBytes();
  for (size_t i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], nullptr, HoldBlocks, nullptr) != 0) abort();
  }
  pthread_barrier_wait(&g_all_allocated);
  const double resident = ResidentBytes() - before;
  pthread_barrier_wait(&g_measured);
  for (size_t i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
  return resident / static_cast<double>(count);
}

void MeasureThreads(size_t count, size_t live, double rate) {
  StartOptions options;
  options.callstack_size = 8;
  options.seed = 1;
  if (rate > 0 && !Tracker::start(rate, Keeping(), options).ok()) abort();
  g_live_per_thread = live;
  const double resident = ResidentPerThread(count);
  printf("%zu threads, %4zu blocks each, rate %-7g %8.0f bytes resident per thread\n", count, live,
         rate, resident);
}

template <typename Work>
void InChild(Work work) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) abort();
}

}  // namespace
}  // namespace allomon

void MeasureInChild(size_t live) {
  allomon::InChild([live] { allomon::Measure(live); });
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "threads") == 0) {
    const size_t count = strtoul(argv[2], nullptr, 10);
    if (count == 0 || count > allomon::kMaxThreads) return 1;
    constexpr double kEightInThousand = 0.008 / 9;  // rate for blocks of 8 words and a header
    for (const auto& [live, rate] : std::initializer_list<std::pair<size_t, double>>{
             {8, 0}, {8, 1}, {1000, 0}, {1000, kEightInThousand}}) {
      allomon::InChild(
          [&, live = live, rate = rate] { allomon::MeasureThreads(count, live, rate); });
    }
    return 0;
  }
  printf("%9s %8s %9s %6s %6s\n", "live", "own", "resident", "pair", "free");
  for (int i = 1; i < argc; ++i) MeasureInChild(strtoul(argv[i], nullptr, 10));
  if (argc > 1) return 0;
  for (const size_t live : {1000, 10000, 100000, 1000000}) MeasureInChild(live);
}
