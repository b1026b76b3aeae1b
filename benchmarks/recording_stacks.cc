// What a recording of a million distinct stacks takes, in the file and in the tracker's own memory,
// and the longest of its calls of malloc, in the processor time of the thread: page faults count,
// what other programs take does not.
//
//   recording_stacks DEPTH     2^DEPTH stacks, a live block each; 20 are a million
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "allocator/allocator.h"
#include "tracker/base/own_memory.h"
#include "tracker/recording.h"

namespace {

double g_longest_ms = 0;

double ThreadMs() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void* TimedMalloc() {
  const double begin_ms = ThreadMs();
  void* const block = allomon::SamplingMalloc(16);
  g_longest_ms = std::max(g_longest_ms, ThreadMs() - begin_ms);
  return block;
}

// Each path through a tree of that depth is a stack.
__attribute__((noinline)) void AllocateOnPath(unsigned path, int depth, std::vector<void*>* kept) {
  if (depth == 0) return kept->push_back(TimedMalloc());
  if ((path & 1) != 0) {
    AllocateOnPath(path >> 1, depth - 1, kept);
    asm volatile("nop");
  } else {
    AllocateOnPath(path >> 1, depth - 1, kept);
    asm volatile("nop; nop");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int depth = argc > 1 ? atoi(argv[1]) : 20;
  allomon::RecordingOptions options;
  options.path = "/tmp/recording_stacks.rec";
  options.rate = 1;
  options.limit_bytes = uint64_t{1} << 30;
  const auto id = allomon::Recording::Start(options);
  if (!id.ok()) return 1;
  std::vector<void*> kept;
  kept.reserve(size_t{1} << depth);
  for (unsigned path = 0; path < 1u << depth; ++path) AllocateOnPath(path, depth, &kept);
  struct stat status;
  const bool has_file = stat(options.path.c_str(), &status) == 0;
  unlink(options.path.c_str());
  const auto statistics = allomon::Recording::ReadStatistics(*id);
  if (!has_file || !statistics.ok()) return 1;
  printf("%llu samples, %llu dropped: file %.1f MB, own memory %.1f MB; longest malloc %.2f ms\n",
         static_cast<unsigned long long>(statistics->samples),
         static_cast<unsigned long long>(statistics->dropped_samples),
         static_cast<double>(status.st_size) / 1e6,
         static_cast<double>(allomon::internal::OwnMemory::mapped_bytes()) / 1e6,
         g_longest_ms);
  return 0;
}
