// The cost of capturing a call stack, by number of frames, beside libgcc's unwinder and beside
// following frame pointers, in one run.
//
//   bazel run //benchmarks:callstack_benchmark        code with frame pointers
//   bazel run //benchmarks:callstack_omit_benchmark   code without (no FramePointers row)
//
// Captures the same stack again and again.  The "cold" rows write 8 MB in between.  They include
// the cost of stopping the clock, which the nothing_cold row shows.
#include <benchmark/benchmark.h>
#include <unwind.h>

#include <cstdint>
#include <vector>

#include "benchmarks/callstack_frames.h"
#include "tracker/callstack/capture.h"

namespace allomon::benchmarks {
namespace {

constexpr int kMaxFrames = 512;
using Frames = uintptr_t[kMaxFrames];
using CaptureFunction = size_t (*)(Frames frames, size_t max_frames);

__attribute__((noinline)) size_t Cfi(Frames frames, size_t max_frames) {
  bool truncated;
  return CaptureCallstack(ALLOMON_CALLER_FRAME(), frames, max_frames, &truncated);
}

__attribute__((noinline)) size_t CfiAfresh(Frames frames, size_t max_frames) {
  bool truncated;
  return CaptureCallstackAfresh(ALLOMON_CALLER_FRAME(), frames, max_frames, &truncated);
}

// A loop with samples from different places: the two innermost frames are one of four pairs of
// functions of different sizes, the frames below stay the same.
template <CaptureFunction kCapture, int kWords>
__attribute__((noinline)) size_t Inner(Frames frames, size_t max_frames) {
  long local[kWords] = {};
  benchmark::DoNotOptimize(local);
  const size_t count = kCapture(frames, max_frames);
  benchmark::DoNotOptimize(local);
  return count;
}
template <CaptureFunction kCapture, int kWords>
__attribute__((noinline)) size_t Outer(Frames frames, size_t max_frames) {
  long local[2 * kWords] = {};
  benchmark::DoNotOptimize(local);
  const size_t count = Inner<kCapture, kWords>(frames, max_frames);
  benchmark::DoNotOptimize(local);
  return count;
}
template <CaptureFunction kCapture>
size_t Varying(Frames frames, size_t max_frames) {
  constexpr CaptureFunction kTops[] = {Outer<kCapture, 1>, Outer<kCapture, 4>, Outer<kCapture, 2>,
                                       Outer<kCapture, 8>};
  static uint32_t turn = 0;
  return kTops[++turn % 4](frames, max_frames);
}

struct Backtrace {
  uintptr_t* frames;
  size_t max_frames;
  size_t count;
};

_Unwind_Reason_Code OnFrame(_Unwind_Context* context, void* argument) {
  auto* backtrace = static_cast<Backtrace*>(argument);
  if (backtrace->count == backtrace->max_frames) return _URC_END_OF_STACK;
  backtrace->frames[backtrace->count++] = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

__attribute__((noinline)) size_t Libgcc(Frames frames, size_t max_frames) {
  Backtrace backtrace = {frames, max_frames, 0};
  _Unwind_Backtrace(OnFrame, &backtrace);
  return backtrace.count;
}

// Follows frame pointers without any check: the least that a walk can cost.
__attribute__((noinline)) size_t FramePointers(Frames frames, size_t max_frames) {
  auto* bp = static_cast<uintptr_t*>(__builtin_frame_address(0));
  size_t count = 0;
  while (count < max_frames && bp != nullptr) {
    frames[count++] = bp[1];
    bp = reinterpret_cast<uintptr_t*>(*bp);
  }
  return count;
}

// Captures nothing: measures the part of the cold rows that is not the capture.
size_t Nothing(Frames, size_t max_frames) { return max_frames; }

struct Run {
  benchmark::State* state;
  CaptureFunction capture;
  bool cold;
};

void EvictCaches() {
  static std::vector<char> filler(8 << 20);
  for (size_t i = 0; i < filler.size(); i += 64) ++filler[i];
}

void Measure(void* argument) {
  auto* run = static_cast<Run*>(argument);
  const size_t depth = run->state->range(0);
  Frames frames;
  size_t count = 0;
  for (auto _ : *run->state) {
    if (run->cold) {
      run->state->PauseTiming();
      EvictCaches();
      run->state->ResumeTiming();
    }
    count = run->capture(frames, depth);
    benchmark::DoNotOptimize(frames);
  }
  if (count != depth) run->state->SkipWithError("stack ended early");
}

void Capture(benchmark::State& state, CaptureFunction capture, bool cold) {
  Run run = {&state, capture, cold};
  UnderFrames(static_cast<int>(state.range(0)), Measure, &run);
}

void HotDepths(benchmark::internal::Benchmark* b) { b->Arg(8)->Arg(32)->Arg(128); }
void ColdDepths(benchmark::internal::Benchmark* b) { b->Arg(8)->Arg(32)->Iterations(1000); }

BENCHMARK_CAPTURE(Capture, cfi, Cfi, false)->Apply(HotDepths);
BENCHMARK_CAPTURE(Capture, cfi_varying, Varying<Cfi>, false)->Apply(HotDepths);
BENCHMARK_CAPTURE(Capture, cfi_afresh, CfiAfresh, false)->Apply(HotDepths);
BENCHMARK_CAPTURE(Capture, cfi_afresh_varying, Varying<CfiAfresh>, false)->Apply(HotDepths);
#if !defined(ALLOMON_OMITS_FRAME_POINTERS)
BENCHMARK_CAPTURE(Capture, frame_pointers, FramePointers, false)->Apply(HotDepths);
#else
[[maybe_unused]] const CaptureFunction kUnusable = FramePointers;
#endif
BENCHMARK_CAPTURE(Capture, libgcc, Libgcc, false)->Apply(HotDepths);
BENCHMARK_CAPTURE(Capture, nothing_cold, Nothing, true)->Apply(ColdDepths);
BENCHMARK_CAPTURE(Capture, cfi_cold, Cfi, true)->Apply(ColdDepths);
BENCHMARK_CAPTURE(Capture, cfi_afresh_cold, CfiAfresh, true)->Apply(ColdDepths);
BENCHMARK_CAPTURE(Capture, libgcc_cold, Libgcc, true)->Apply(ColdDepths);

// Captures at a pc met for the first time: the cache is emptied before each capture.
void CaptureUnknownCode(benchmark::State& state) {
  Run run = {&state, Cfi, false};
  UnderFrames(
      static_cast<int>(state.range(0)),
      [](void* argument) {
        auto& state = *static_cast<Run*>(argument)->state;
        Frames frames;
        for (auto _ : state) {
          state.PauseTiming();
          ForgetUnloadedCode();
          state.ResumeTiming();
          benchmark::DoNotOptimize(Cfi(frames, state.range(0)));
        }
      },
      &run);
}
BENCHMARK(CaptureUnknownCode)->Arg(8);

}  // namespace
}  // namespace allomon::benchmarks

BENCHMARK_MAIN();
