// The cost of one sample: every allocation is sampled, followed and freed.  sample_memory.cc
// measures the cost in memory.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "tracker/recording.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

struct Keeping {
  std::optional<int> alloc_major(const Allocation&) { return 1; }
};

struct Counting {
  std::optional<int> alloc_major(const Allocation&) { return std::nullopt; }
};

template <typename UserTracker>
TrackerId StartOrDie(double rate, uint32_t callstack_size) {
  StartOptions options;
  options.callstack_size = callstack_size;
  options.seed = 1;
  const auto id = Tracker::start(rate, UserTracker(), options);
  if (!id.ok()) abort();
  return *id;
}

// Adds frames above those of the benchmark, so that the stack is deep enough to capture 8.
__attribute__((noinline)) void AllocateDeep(int depth) {
  if (depth == 0) {
    void* block = SamplingMalloc(64);
    benchmark::DoNotOptimize(block);
    SamplingFree(block);
  } else {
    AllocateDeep(depth - 1);
  }
  asm volatile("" : : : "memory");  // no tail call
}

template <typename UserTracker>
void BM_Sample(benchmark::State& state) {
  StartOrDie<UserTracker>(1, static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) AllocateDeep(static_cast<int>(state.range(0)));
  Tracker::stop().IgnoreError();
}
BENCHMARK_TEMPLATE(BM_Sample, Keeping)->Arg(0)->Arg(8)->Arg(32)->Arg(128);
BENCHMARK_TEMPLATE(BM_Sample, Counting)->Arg(0)->Arg(8);

// Each thread has its own blocks, so this shows the cost of data that threads share.
void BM_SampleThreads(benchmark::State& state) {
  if (state.thread_index() == 0) StartOrDie<Keeping>(1, 8);
  for (auto _ : state) AllocateDeep(8);
  if (state.thread_index() == 0) Tracker::stop().IgnoreError();
}
BENCHMARK(BM_SampleThreads)->Threads(1)->Threads(2);

// Does the same in a recording.  Here threads also share a row, and the sum of all live blocks.
void BM_RecordedThreads(benchmark::State& state) {
  static RecordingId recording;
  if (state.thread_index() == 0) {
    RecordingOptions options;
    options.path = "/tmp/sample_benchmark.%p.rec";
    options.rate = 1;
    options.seed = 1;
    options.callstack_size = 8;
    const auto id = Recording::Start(options);
    if (!id.ok()) abort();
    recording = *id;
  }
  for (auto _ : state) AllocateDeep(8);
  if (state.thread_index() != 0) return;
  if (!Recording::Stop(recording).ok()) abort();
  unlink(("/tmp/sample_benchmark." + std::to_string(getpid()) + ".rec").c_str());
}
BENCHMARK(BM_RecordedThreads)->Threads(1)->Threads(2);

// The same loop without a tracker, to subtract.
void BM_Unsampled(benchmark::State& state) {
  for (auto _ : state) AllocateDeep(static_cast<int>(state.range(0)));
}
BENCHMARK(BM_Unsampled)->Arg(0)->Arg(8)->Arg(32)->Arg(128);

// Allocates under 4,000 frames at 1e-3, relative to the same without sampling.  Compares the
// default limit of depth with unlimited stacks (OCaml: 13.6 times slower).
__attribute__((noinline)) void Recurse(int depth) {
  if (depth == 0) return;
  void* blocks[8];
  for (void*& block : blocks) block = SamplingMalloc(24);
  Recurse(depth - 1);
  for (void* block : blocks) SamplingFree(block);
}

void BM_DeepRecursion(benchmark::State& state) {
  if (state.range(0) != 0) StartOrDie<Keeping>(1e-3, kDefaultCallstackSize);
  for (auto _ : state) Recurse(4000);
  if (state.range(0) != 0) Tracker::stop().IgnoreError();
}
BENCHMARK(BM_DeepRecursion)->ArgName("sampling")->Arg(0)->Arg(1);

void BM_SnapshotOf100000(benchmark::State& state) {
  const TrackerId id = StartOrDie<Keeping>(1, 8);
  std::vector<void*> blocks(100000);
  for (void*& block : blocks) block = SamplingMalloc(64);
  for (auto _ : state) benchmark::DoNotOptimize(Tracker::snapshot(id));
  for (void* block : blocks) SamplingFree(block);
  Tracker::stop().IgnoreError();
}
BENCHMARK(BM_SnapshotOf100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace allomon

BENCHMARK_MAIN();
