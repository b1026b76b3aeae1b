// The cost of single parts, to compare before and after a change of one: the managed heap's nursery
// and collections, the dealloc of a sample, a function's entry, mlprof and report over large files.
// The numbers are nanoseconds.  Gates count instructions instead (README.md, section 7).
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "runtime/heap.h"
#include "tools/mlprof/mlprof.h"
#include "tools/report/report.h"
#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"
#include "tracker/formats/write_file.h"
#include "tracker/profile/profile.h"
#include "tracker/tracker.h"

namespace allomon {
namespace {

struct Cell {
  long value;
  gc::Field<Cell> next;
};

void BM_NurseryAllocation(benchmark::State& state) {
  const auto heap = gc::Heap::Create();
  const gc::Mutator mutator(**heap);
  gc::Local<Cell> cell;
  for (auto _ : state) cell.emplace(1, nullptr);
}
BENCHMARK(BM_NurseryAllocation);

gc::Local<Cell> MakeList(int64_t length) {
  gc::Local<Cell> list;
  for (int64_t i = 0; i < length; ++i) list = gc::make<Cell>(i, list);
  return list;
}

// A collection of `live` young objects, which it promotes.  Making them is not counted.
void BM_MinorCollection(benchmark::State& state) {
  const auto heap = gc::Heap::Create();
  const gc::Mutator mutator(**heap);
  for (auto _ : state) {
    state.PauseTiming();
    const gc::Local<Cell> list = MakeList(state.range(0));
    state.ResumeTiming();
    (*heap)->Collect(gc::CollectionKind::kMinor);
    benchmark::DoNotOptimize(list);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_MinorCollection)->ArgName("live")->Arg(0)->Arg(1000)->Arg(20000);

// A collection that marks `live` old objects.  The nursery is empty.
void BM_MajorCollection(benchmark::State& state) {
  const auto heap = gc::Heap::Create();
  const gc::Mutator mutator(**heap);
  const gc::Local<Cell> list = MakeList(state.range(0));
  (*heap)->Collect(gc::CollectionKind::kMajor);
  for (auto _ : state) (*heap)->Collect(gc::CollectionKind::kMajor);
  benchmark::DoNotOptimize(list);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_MajorCollection)->ArgName("live")->Arg(0)->Arg(1000)->Arg(1000000);

struct Keeping {
  std::optional<int> alloc_major(const Allocation&) { return 1; }
};

// The free of a sampled block, among `live` others.
void BM_DeallocOfASample(benchmark::State& state) {
  StartOptions options;
  options.callstack_size = 8;
  if (!Tracker::start(1, Keeping(), options).ok()) abort();
  std::vector<void*> live(static_cast<size_t>(state.range(0)));
  for (void*& block : live) block = SamplingMalloc(64);
  constexpr int kBatch = 1000;
  void* batch[kBatch];
  while (state.KeepRunningBatch(kBatch)) {
    state.PauseTiming();
    for (void*& block : batch) block = SamplingMalloc(64);
    state.ResumeTiming();
    for (void* block : batch) SamplingFree(block);
  }
  for (void* block : live) SamplingFree(block);
  Tracker::stop().IgnoreError();
}
BENCHMARK(BM_DeallocOfASample)->ArgName("live")->Arg(0)->Arg(1000)->Arg(1000000);

__attribute__((noinline)) void NamedFunction() {
  ALLOMON_FUNCTION();
  benchmark::ClobberMemory();
}

enum class Recording { kOff, kCount, kCountStack };

void BM_FunctionEntry(benchmark::State& state) {
  const auto recording = static_cast<Recording>(state.range(0));
  ProfileOptions options;
  options.kind = ProfileKind::kCount;
  if (recording == Recording::kCountStack) options.style = ProfileStyle::kStack;
  if (recording != Recording::kOff && !Profile::Start(options).ok()) abort();
  for (auto _ : state) NamedFunction();
  Profile::Stop().IgnoreError();
}
BENCHMARK(BM_FunctionEntry)->ArgName("off,count,stack")->Arg(0)->Arg(1)->Arg(2);

// A profile of a program with many functions, each with amounts of its own.
class LargeProfile {
 public:
  explicit LargeProfile(int64_t functions) {
    SourceTable table = FixedSourceTable();
    Mlmon mlmon;
    mlmon.style = ProfileStyle::kStack;
    mlmon.splits.resize(table.sources.size());
    for (int64_t i = 0; i < functions; ++i) {
      table.sources.push_back({static_cast<uint32_t>(table.names.size()), kNoSuccessors});
      table.names.push_back({"function_" + std::to_string(i), "file.cc: " + std::to_string(i)});
      mlmon.splits.push_back({i, i, 0});
      mlmon.total += i;
    }
    mlmon.masters = mlmon.splits;
    mlmon.magic = table.magic = ContentMagic(table);
    std::string error;
    if (!WriteFileAtomically(mlmon_, FormatMlmon(mlmon), 0644, &error) ||
        !WriteFileAtomically(program_, FormatSourcesStub(table), 0755, &error)) {
      fprintf(stderr, "%s\n", error.c_str());
      abort();
    }
  }
  ~LargeProfile() {
    unlink(mlmon_.c_str());
    unlink(program_.c_str());
  }
  LargeProfile(const LargeProfile&) = delete;
  LargeProfile& operator=(const LargeProfile&) = delete;

  const std::string& program() const { return program_; }
  const std::string& mlmon() const { return mlmon_; }

 private:
  const std::string mlmon_ = "/tmp/allomon_large." + std::to_string(getpid()) + ".out";
  const std::string program_ = mlmon_ + ".sources";
};

void BM_Mlprof(benchmark::State& state) {
  const LargeProfile profile(state.range(0));
  for (auto _ : state) {
    if (!mlprof::RunMlprof({"-thresh", "1", profile.program(), profile.mlmon()}).success) abort();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Mlprof)
    ->ArgName("functions")
    ->Arg(1000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Prints the table for a terminal, and all functions as JSON.
void BM_Report(benchmark::State& state, const std::string& option) {
  const LargeProfile profile(state.range(0));
  for (auto _ : state) {
    if (report::RunReport({option, profile.mlmon()}, report::Terminal()).status != 0) abort();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(BM_Report, table, "--width=100")
    ->ArgName("functions")
    ->Arg(1000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_Report, json, "--json")
    ->ArgName("functions")
    ->Arg(1000)
    ->Arg(100000)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace allomon

BENCHMARK_MAIN();
