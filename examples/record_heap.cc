// Records the program's own heap, native blocks and managed objects together.
//
//   bazel run //examples:record_heap
//   allomon report /tmp/record_heap.rec
#include <cstdio>
#include <memory>
#include <vector>

#include "runtime/heap.h"
#include "tracker/recording.h"

namespace {

struct Cell {
  long value;
  allomon::gc::Field<Cell> next;
};

// Every tenth cell is kept; the others die in the nursery.
void MakeManaged() {
  const auto heap = allomon::gc::Heap::Create();
  if (!heap.ok()) return;
  const allomon::gc::Mutator mutator(**heap);
  allomon::gc::Local<Cell> kept;
  for (long i = 0; i < 1'000'000; ++i) {
    allomon::gc::Local<Cell> cell = allomon::gc::make<Cell>(i, nullptr);
    if (i % 10 == 0) kept = allomon::gc::make<Cell>(i, kept);
  }
}

void MakeNative() {
  std::vector<std::unique_ptr<long>> numbers;
  for (long i = 0; i < 100'000; ++i) numbers.push_back(std::make_unique<long>(i));
}

}  // namespace

int main() {
  allomon::RecordingOptions options;
  options.path = "/tmp/record_heap.rec";
  options.rate = 1e-3;
  const auto recording = allomon::Recording::Start(options);
  if (!recording.ok()) {
    fprintf(stderr, "%s\n", recording.status().ToString().c_str());
    return 1;
  }
  MakeManaged();
  MakeNative();
  const auto statistics = allomon::Recording::ReadStatistics(*recording);
  printf("%llu sampled blocks in %s\n",
         statistics.ok() ? static_cast<unsigned long long>(statistics->samples) : 0,
         options.path.c_str());
  return allomon::Recording::Stop(*recording).ok() ? 0 : 1;
}
