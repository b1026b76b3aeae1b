// Measures minor collections with survivors, and major ones, by one thread and by several.
//
//   minor_benchmark <shape> <MB that survive> <rounds> [collectors] [major]
//
// Shapes: `tree`, a binary tree; `table`, an old array whose elements are young cells; `strings`,
// the same with strings of 24 to 500 bytes; `graph`, objects with four references to random others;
// `list`, one linked list, of which two threads make nothing quicker.  Two heaps, with collectors=1
// and collectors=N, do the same in turn.  Prints microseconds of one collection, the least and the
// median, and the median of the rounds' ratios.  `major`: the objects are made once and are old,
// and each round is a major collection that finds all of them alive.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/heap.h"

namespace gc = allomon::gc;

namespace {

struct Tree {
  gc::Field<Tree> left;
  gc::Field<Tree> right;
};
struct Cell {
  long head;
  gc::Field<Cell> tail;
};
struct Node {
  gc::Field<Node> to[4];
};

gc::Local<Tree> MakeTree(int depth) {
  if (depth == 0) return gc::make<Tree>(nullptr, nullptr);
  return gc::make<Tree>(MakeTree(depth - 1), MakeTree(depth - 1));
}

gc::Root<gc::Any> Make(const std::string& shape, size_t bytes) {
  if (shape == "tree") {
    int depth = 0;
    while (size_t{48} << depth < bytes) ++depth;
    return MakeTree(depth);
  }
  if (shape == "list") {
    gc::Local<Cell> list;
    for (size_t i = 0; i < bytes / 24; ++i) list = gc::make<Cell>(static_cast<long>(i), list);
    return list;
  }
  if (shape == "table") {
    gc::Local<gc::Array<Cell>> table = gc::make_array<Cell>(bytes / 24);
    for (size_t i = 0; i < bytes / 24; ++i) table->at(i) = gc::make<Cell>(1, nullptr);
    return table;
  }
  if (shape == "strings") {
    gc::Local<gc::Array<gc::Bytes>> table = gc::make_array<gc::Bytes>(bytes / 256);
    for (size_t i = 0; i < bytes / 256; ++i) table->at(i) = gc::make_bytes(24 + i * 37 % 476);
    return table;
  }
  if (shape == "graph") {
    const size_t count = bytes / 40;
    gc::Local<gc::Array<Node>> nodes = gc::make_array<Node>(count);
    uint32_t random = 42;
    const auto next = [&] { return (random = random * 1664525 + 1013904223) >> 8; };
    for (size_t i = 0; i < count; ++i) {
      nodes->at(i) = gc::make<Node>();
      for (int k = 0; k < 4; ++k) nodes->at(i)->to[k] = nodes->at(next() % (i + 1));
    }
    return nodes->at(count - 1);
  }
  fprintf(stderr, "minor_benchmark: no shape '%s': tree, table, strings, graph, list\n",
          shape.c_str());
  exit(2);
}

// Returns the microseconds of one collection.
double Collect(gc::Heap& heap, gc::CollectionKind kind) {
  const auto start = std::chrono::steady_clock::now();
  heap.Collect(kind);
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::micro>(end - start).count();
}

// Returns the microseconds of one minor collection.
double Round(gc::Heap& heap, const std::string& shape, size_t bytes) {
  const gc::Mutator mutator(heap);
  double us = 0;
  {
    const gc::Root<gc::Any> kept = Make(shape, bytes);
    us = Collect(heap, gc::CollectionKind::kMinor);
  }
  heap.CollectFromTop(gc::CollectionKind::kMajor);
  return us;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::unique_ptr<gc::Heap> MakeHeap(size_t nursery_bytes, size_t floor_bytes, uint32_t collectors) {
  gc::HeapOptions options;
  options.nursery_bytes = nursery_bytes;
  options.growth_floor_bytes = floor_bytes;
  options.incremental_from_bytes = size_t{1} << 40;
  options.collectors = collectors;
  return gc::Heap::Create(options).value();
}

struct Times {
  std::vector<double> alone;
  std::vector<double> together;

  void Add(double one, double several) {
    alone.push_back(one);
    together.push_back(several);
  }
  void Print(const std::string& what, uint64_t parallel, uint64_t all) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < alone.size(); ++i) ratios.push_back(together[i] / alone[i]);
    const double least_alone = *std::min_element(alone.begin(), alone.end());
    const double least_together = *std::min_element(together.begin(), together.end());
    printf(
        "%s: one thread %.0f us (median %.0f), several %.0f (%.0f); ratio of the least %.2f, "
        "median of the ratios %.2f; %llu of %llu in parallel\n",
        what.c_str(), least_alone, Median(alone), least_together, Median(together),
        least_together / least_alone, Median(ratios), static_cast<unsigned long long>(parallel),
        static_cast<unsigned long long>(all));
  }
};

// The first rounds take the pages and start the threads.
constexpr int kFirstRound = -2;

void MeasureMinor(const std::string& shape, size_t bytes, int rounds, uint32_t collectors) {
  const auto one = MakeHeap(2 * bytes, 8 * bytes, 1);
  const auto several = MakeHeap(2 * bytes, 8 * bytes, collectors);
  Times times;
  for (int i = kFirstRound; i < rounds; ++i) {
    const double first = Round(*one, shape, bytes);
    const double second = Round(*several, shape, bytes);
    if (i >= 0) times.Add(first, second);
  }
  const gc::HeapStatistics statistics = several->statistics();
  times.Print(shape, statistics.parallel_collections, statistics.minor_collections);
}

// A thread has one heap at a time, so Globals keep the objects between its turns.
void MeasureMajor(const std::string& shape, size_t bytes, int rounds, uint32_t collectors) {
  constexpr size_t kNurseryBytes = size_t{2} << 20;
  const auto one = MakeHeap(kNurseryBytes, 8 * bytes, 1);
  const auto several = MakeHeap(kNurseryBytes, 8 * bytes, collectors);
  gc::Global<gc::Any> kept[2];
  const auto make = [&](gc::Heap& heap, gc::Global<gc::Any>& global) {
    const gc::Mutator mutator(heap);
    global = Make(shape, bytes);
  };
  make(*one, kept[0]);
  make(*several, kept[1]);
  Times times;
  for (int i = kFirstRound; i < rounds; ++i) {
    const double first = Collect(*one, gc::CollectionKind::kMajor);
    const double second = Collect(*several, gc::CollectionKind::kMajor);
    if (i >= 0) times.Add(first, second);
  }
  const gc::HeapStatistics statistics = several->statistics();
  times.Print(shape, statistics.parallel_markings, statistics.major_collections);
  for (gc::Global<gc::Any>& global : kept) global.Reset();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: minor_benchmark SHAPE MB ROUNDS [COLLECTORS] [major]\n");
    return 2;
  }
  const std::string shape = argv[1];
  const size_t bytes = static_cast<size_t>(strtod(argv[2], nullptr) * (1 << 20));
  const int rounds = atoi(argv[3]);
  const uint32_t collectors = argc > 4 ? static_cast<uint32_t>(atoi(argv[4])) : 2;
  const bool is_major = argc > 5 && std::string(argv[5]) == "major";
  (is_major ? MeasureMajor : MeasureMinor)(shape, bytes, rounds, collectors);
  return 0;
}
