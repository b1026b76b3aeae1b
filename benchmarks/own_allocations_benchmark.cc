// Counts the malloc calls of our own operations, for own_allocations_gate, which fails when a
// figure grows.  The times mean nothing.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "runtime/heap.h"
#include "tracker/profile/profile.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

struct Follow {
  std::optional<int> alloc_major(const Allocation&) { return 1; }
};

TrackerId StartOrDie(double rate) {
  StartOptions options;
  options.seed = 1;
  const auto id = Tracker::start(rate, Follow{}, options);
  if (!id.ok()) abort();
  return *id;
}

void BM_StartAndStop(benchmark::State& state) {
  for (auto _ : state) {
    StartOrDie(1e-6);
    Tracker::stop().IgnoreError();
  }
}
BENCHMARK(BM_StartAndStop);

// Allocates the block itself and nothing else, sampled or not.
void BM_SampledBlock(benchmark::State& state) {
  StartOrDie(1);
  for (auto _ : state) {
    void* block = malloc(64);
    benchmark::DoNotOptimize(block);
    free(block);
  }
  Tracker::stop().IgnoreError();
}
BENCHMARK(BM_SampledBlock);

void BM_SnapshotOf1000(benchmark::State& state) {
  const TrackerId id = StartOrDie(1);
  std::vector<void*> blocks(1000);
  for (void*& block : blocks) block = malloc(64);
  for (auto _ : state) benchmark::DoNotOptimize(Tracker::snapshot(id));
  Tracker::stop().IgnoreError();
  for (void* block : blocks) free(block);
}
BENCHMARK(BM_SnapshotOf1000);

__attribute__((noinline)) void NamedFunction() {
  ALLOMON_FUNCTION();
  benchmark::ClobberMemory();
}
void BM_FunctionEntry(benchmark::State& state) {
  for (auto _ : state) NamedFunction();
}
BENCHMARK(BM_FunctionEntry);

struct Cell {
  long value;
  gc::Field<Cell> next;
};

// Allocates the object, which counts, without any malloc.
void BM_ManagedObject(benchmark::State& state) {
  const auto heap = gc::Heap::Create();
  const gc::Mutator mutator(**heap);
  for (auto _ : state) benchmark::DoNotOptimize(gc::make<Cell>(1, nullptr));
}
BENCHMARK(BM_ManagedObject);

void BM_MinorCollectionOf1000(benchmark::State& state) {
  const auto heap = gc::Heap::Create();
  const gc::Mutator mutator(**heap);
  for (auto _ : state) {
    gc::Local<Cell> list;
    for (int i = 0; i < 1000; ++i) list = gc::make<Cell>(i, list);
    (*heap)->Collect(gc::CollectionKind::kMinor);
  }
}
BENCHMARK(BM_MinorCollectionOf1000);

}  // namespace
}  // namespace allomon
