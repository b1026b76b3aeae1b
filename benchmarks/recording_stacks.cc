// The cost of a recording of a million distinct stacks: bytes in the file and in the tracker's own
// memory, and the longest of its calls of malloc in processor time of the thread, which includes
// page faults but not the time of other programs.
//
//   recording_stacks DEPTH RUNS     2^DEPTH stacks with a live block each; 20 gives a million
//
// All runs do the same, each in a child.  The time of a call is the least of its runs: the host of
// a virtual machine interrupts a different call in each run, but the work of a call is the same in
// all runs.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "allocator/allocator.h"
#include "tracker/base/own_memory.h"
#include "tracker/recording.h"

namespace {

float* g_call_ms = nullptr;  // the least time of each call; shared by all runs

double ThreadMs() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void* TimedMalloc(size_t call) {
  const double begin_ms = ThreadMs();
  void* const block = allomon::SamplingMalloc(16);
  g_call_ms[call] = std::min(g_call_ms[call], static_cast<float>(ThreadMs() - begin_ms));
  return block;
}

// Makes a stack for each path through a tree of that depth.
__attribute__((noinline)) void AllocateOnPath(unsigned path, int depth, std::vector<void*>* kept) {
  if (depth == 0) return kept->push_back(TimedMalloc(kept->size()));
  if ((path & 1) != 0) {
    AllocateOnPath(path >> 1, depth - 1, kept);
    asm volatile("nop");
  } else {
    AllocateOnPath(path >> 1, depth - 1, kept);
    asm volatile("nop; nop");
  }
}

int Fail(const char* what, const absl::Status& status) {
  fprintf(stderr, "recording_stacks: %s: %s\n", what, status.ToString().c_str());
  return 1;
}

// Returns the status to end with.
int RunOnce(int depth) {
  allomon::RecordingOptions options;
  options.path = "/tmp/recording_stacks." + std::to_string(getpid()) + ".rec";
  options.rate = 1;
  options.limit_bytes = uint64_t{1} << 30;
  const auto id = allomon::Recording::Start(options);
  if (!id.ok()) return Fail("no recording", id.status());
  std::vector<void*> kept;
  kept.reserve(size_t{1} << depth);
  for (unsigned path = 0; path < 1u << depth; ++path) AllocateOnPath(path, depth, &kept);
  struct stat status;
  const bool has_file = stat(options.path.c_str(), &status) == 0;
  unlink(options.path.c_str());
  const auto statistics = allomon::Recording::ReadStatistics(*id);
  if (!statistics.ok()) return Fail("no statistics", statistics.status());
  if (!has_file) return Fail("no file", absl::NotFoundError(options.path));
  printf("%llu samples, %llu dropped: file %.1f MB, own memory %.1f MB\n",
         static_cast<unsigned long long>(statistics->samples),
         static_cast<unsigned long long>(statistics->dropped_samples),
         static_cast<double>(status.st_size) / 1e6,
         static_cast<double>(allomon::internal::OwnMemory::mapped_bytes()) / 1e6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int depth = argc > 1 ? atoi(argv[1]) : 20;
  const int runs = argc > 2 ? atoi(argv[2]) : 3;
  const size_t calls = size_t{1} << depth;
  void* const shared = mmap(nullptr, calls * sizeof(float), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  g_call_ms = static_cast<float*>(shared);
  std::fill_n(g_call_ms, calls, 1e9f);
  for (int run = 0; run < runs; ++run) {
    const pid_t child = fork();
    if (child == 0) {
      const int status = RunOnce(depth);
      fflush(stdout);
      _exit(status);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  printf("longest malloc %.2f ms\n",
         static_cast<double>(*std::max_element(g_call_ms, g_call_ms + calls)));
  return 0;
}
