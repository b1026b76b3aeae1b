// Workloads with long-lived data, made at sites (runtime/site.h).  pretenuring.py runs them with
// and without the heap's decisions.
//
//   pretenuring_benchmark <workload> <size>
//
// Prints a checksum, and on stderr figures of the collections.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

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
struct Entry {
  uint64_t key;
  long value;
  gc::Field<Entry> next;
};

uint32_t NextRandom(uint32_t* state) {
  return *state = (*state * 1103515245u + 12345u) & 0x7fffffffu;
}

template <typename... Sites>
gc::Local<Tree> MakeTree(int depth, Sites&... site) {
  if (depth == 0) return gc::make<Tree>(site..., nullptr, nullptr);
  return gc::make<Tree>(site..., MakeTree(depth - 1, site...), MakeTree(depth - 1, site...));
}

long Check(const Tree* tree) {
  return tree->left ? 1 + Check(tree->left.operator->()) + Check(tree->right.operator->()) : 1;
}

// Binary trees, nearly all of which die young: with a site and without.
template <typename... Sites>
long Trees(int depth, Sites&... site) {
  long sum = 0;
  for (int d = 4; d <= depth; d += 4) {
    for (int i = 0; i < 1 << (depth - d + 4); ++i) sum += Check(MakeTree(d, site...).operator->());
  }
  return sum;
}

// A table of a million references into which one cell of a hundred is stored, and a long-lived
// tree, as in runtime_benchmark, without its swaps.
long LongLived(int millions) {
  static gc::Site nodes("tree");
  static gc::Site stored("stored cells");
  constexpr size_t kTable = 1000000;
  const gc::Local<Tree> tree = MakeTree(20, nodes);
  const gc::Local<gc::Array<Cell>> table = gc::make_array<Cell>(kTable);
  uint32_t random = 42;
  for (long i = 0; i < millions * 1000000L; ++i) {
    if ((NextRandom(&random) >> 8) % 100 == 0) {
      table->at(NextRandom(&random) % kTable) = gc::make<Cell>(stored, i, nullptr);
    } else {
      const gc::Local<Cell> garbage = gc::make<Cell>(i, nullptr);
      asm volatile("" : : "r"(garbage.operator->()));
    }
  }
  long sum = Check(tree.operator->());
  for (size_t i = 0; i < kTable; ++i) sum += table->at(i) ? table->at(i)->head : 0;
  return sum;
}

// A cache of half a million entries; each new entry replaces the oldest one.  Each request makes
// four objects of garbage; one in four is a hit.
long Cache(int millions) {
  static gc::Site entries("cache entries");
  constexpr size_t kEntries = 500000;
  const gc::Local<gc::Array<Entry>> cache = gc::make_array<Entry>(kEntries);
  uint32_t random = 42;
  long sum = 0;
  for (long i = 0; i < millions * 1000000L; ++i) {
    const uint64_t key = NextRandom(&random);
    for (int j = 0; j < 4; ++j) {
      const gc::Local<Cell> garbage = gc::make<Cell>(j, nullptr);
      asm volatile("" : : "r"(garbage.operator->()));
    }
    cache->at(static_cast<size_t>(i) % kEntries) = gc::make<Entry>(entries, key, i, nullptr);
    if (key % 4 != 0) continue;
    const gc::Local<Entry> hit = cache->at(key / 4 % kEntries);
    sum += hit ? hit->value : 0;
  }
  return sum;
}

// GCBench's long-lived structures, made several times over, beside its temporary trees.
long GcBench(int depth) {
  static gc::Site long_lived("long-lived tree");
  static gc::Site temporary("temporary trees");
  long sum = 0;
  gc::Local<Tree> kept;
  for (int round = 0; round < 4; ++round) {
    kept = MakeTree(depth + 2, long_lived);
    sum += Trees(depth, temporary) + Check(kept.operator->());
  }
  return sum;
}

// Each list lives until the next one is made: all cells survive some minor collections, but live
// only briefly.
long Phases(int rounds) {
  static gc::Site cells("lists");
  uint32_t random = 42;
  long sum = 0;
  gc::Local<Cell> list;
  for (int round = 0; round < rounds; ++round) {
    list = nullptr;
    const long length = (round % 8 < 4 ? 400000 : 4000) + NextRandom(&random) % 4000;
    for (int part = 0; part < 400000 / length + 1; ++part) {
      list = nullptr;
      for (long i = 0; i < length; ++i) list = gc::make<Cell>(cells, i, list);
    }
    sum += list->head;
  }
  return sum;
}

int Run(const std::string& workload, int size) {
  static gc::Site trees("trees");
  if (workload == "long_lived") return printf("%ld\n", LongLived(size)), 0;
  if (workload == "cache") return printf("%ld\n", Cache(size)), 0;
  if (workload == "gcbench") return printf("%ld\n", GcBench(size)), 0;
  if (workload == "phases") return printf("%ld\n", Phases(size)), 0;
  if (workload == "trees") return printf("%ld\n", Trees(size, trees)), 0;
  if (workload == "trees_plain") return printf("%ld\n", Trees(size)), 0;
  fprintf(stderr, "workloads: long_lived, cache, gcbench, phases, trees, trees_plain\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: pretenuring_benchmark WORKLOAD SIZE\n"), 2;
  const auto heap = gc::Heap::Create();
  if (!heap.ok()) return fprintf(stderr, "%s\n", heap.status().ToString().c_str()), 1;
  const gc::Mutator mutator(**heap);
  const int result = Run(argv[1], atoi(argv[2]));
  const gc::HeapStatistics s = (*heap)->statistics();
  fprintf(stderr, "%.0f %.0f %.1f\n", static_cast<double>(s.promoted_words) * 8 / 1e6,
          static_cast<double>(s.born_old_words) * 8 / 1e6,
          static_cast<double>(s.total_pause_ns) / 1e6);
  return result;
}
