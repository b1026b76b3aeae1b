// Workloads of managed heaps; benchmarks/runtime_peers has the same programs for OCaml and
// Boehm's collector, and runtime_compare.py runs them in turn.
//
//   runtime_benchmark <workload> <size> [sampling rate]
//
// Prints a checksum, so that the peers can be seen to do the same work, and with
// ALLOMON_PAUSES=1 the pauses.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/heap.h"
#include "tracker/tracker.h"

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
  long key;
  long height;
  gc::Field<Node> left;
  gc::Field<Node> right;
};

// Binary trees, as in the benchmarks game.
gc::Local<Tree> MakeTree(int depth) {
  if (depth == 0) return gc::make<Tree>(nullptr, nullptr);
  return gc::make<Tree>(MakeTree(depth - 1), MakeTree(depth - 1));
}

// Does not allocate, so raw references may be passed on.
long Check(const Tree& tree) {
  return tree.left ? 1 + Check(*tree.left.operator->()) + Check(*tree.right.operator->()) : 1;
}
long Check(gc::Handle<Tree> tree) { return Check(*tree.operator->()); }

long BinaryTrees(int depth) {
  long sum = Check(MakeTree(depth + 1));
  const gc::Local<Tree> long_lived = MakeTree(depth);
  for (int d = 4; d <= depth; d += 4) {
    const int iterations = 1 << (depth - d + 4);
    for (int i = 0; i < iterations; ++i) sum += Check(MakeTree(d));
  }
  return sum + Check(long_lived);
}

// Build, map, filter, reverse and sum a list of 10,000 cells.
gc::Local<Cell> Build(long n) {
  gc::Local<Cell> list;
  for (long i = 0; i < n; ++i) list = gc::make<Cell>(i, list);
  return list;
}
gc::Local<Cell> RevMap(gc::Handle<Cell> list) {
  gc::Local<Cell> out;
  for (gc::Local<Cell> c = list; c; c = c->tail) out = gc::make<Cell>(c->head * 3 + 1, out);
  return out;
}
gc::Local<Cell> Filter(gc::Handle<Cell> list) {
  gc::Local<Cell> out;
  for (gc::Local<Cell> c = list; c; c = c->tail) {
    if (c->head % 2 == 0) out = gc::make<Cell>(c->head, out);
  }
  return out;
}
gc::Local<Cell> Reverse(gc::Handle<Cell> list) {
  gc::Local<Cell> out;
  for (gc::Local<Cell> c = list; c; c = c->tail) out = gc::make<Cell>(c->head, out);
  return out;
}
long Lists(int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    const gc::Local<Cell> list = Reverse(Filter(RevMap(Build(10000))));
    for (gc::Local<Cell> c = list; c; c = c->tail) sum += c->head;
  }
  return sum;
}

// A persistent AVL map, half of the operations removals.
long Height(const gc::Field<Node>& node) { return node ? node->height : 0; }
long Height(gc::Handle<Node> node) { return node ? node->height : 0; }
long Max(long a, long b) { return a > b ? a : b; }

gc::Local<Node> Join(gc::Handle<Node> left, long key, gc::Handle<Node> right) {
  return gc::make<Node>(key, Max(Height(left), Height(right)) + 1, left, right);
}

gc::Local<Node> Balance(gc::Handle<Node> left, long key, gc::Handle<Node> right) {
  const long difference = Height(left) - Height(right);
  if (difference > 2) {
    if (Height(left->left) >= Height(left->right)) {
      return Join(left->left, left->key, Join(left->right, key, right));
    }
    const gc::Local<Node> middle = left->right;
    return Join(Join(left->left, left->key, middle->left), middle->key,
                Join(middle->right, key, right));
  }
  if (difference < -2) {
    if (Height(right->right) >= Height(right->left)) {
      return Join(Join(left, key, right->left), right->key, right->right);
    }
    const gc::Local<Node> middle = right->left;
    return Join(Join(left, key, middle->left), middle->key,
                Join(middle->right, right->key, right->right));
  }
  return Join(left, key, right);
}

gc::Local<Node> Add(gc::Handle<Node> node, long key) {
  if (!node) return gc::make<Node>(key, 1, nullptr, nullptr);
  if (key == node->key) return node;
  if (key < node->key) return Balance(Add(node->left, key), node->key, node->right);
  return Balance(node->left, node->key, Add(node->right, key));
}

long MinKey(const Node* node) {
  while (node->left) node = node->left.operator->();
  return node->key;
}

gc::Local<Node> RemoveMin(gc::Handle<Node> node) {
  if (!node->left) return node->right;
  return Balance(RemoveMin(node->left), node->key, node->right);
}

gc::Local<Node> Remove(gc::Handle<Node> node, long key) {
  if (!node) return nullptr;
  if (key < node->key) return Balance(Remove(node->left, key), node->key, node->right);
  if (key > node->key) return Balance(node->left, node->key, Remove(node->right, key));
  if (!node->left) return node->right;
  if (!node->right) return node->left;
  const long min = MinKey(node->right.operator->());
  return Balance(node->left, min, RemoveMin(node->right));
}

long SumKeys(const gc::Field<Node>& node) {
  return node ? node->key + SumKeys(node->left) + SumKeys(node->right) : 0;
}

long Map(int operations) {
  gc::Local<Node> map;
  uint64_t random = 42;
  for (int i = 0; i < operations; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const long key = static_cast<long>(random >> 33) % 200000;
    map = (random >> 20) % 2 == 0 ? Add(map, key) : Remove(map, key);
  }
  return map ? map->key + SumKeys(map->left) + SumKeys(map->right) : 0;
}

// Byte strings of 8 to 263 bytes, one in eight kept in a ring.
long ByteStrings(int count) {
  constexpr size_t kRing = 16384;
  const gc::Local<gc::Array<gc::Bytes>> ring = gc::make_array<gc::Bytes>(kRing);
  uint64_t random = 42;
  long sum = 0;
  for (int i = 0; i < count; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const gc::Local<gc::Bytes> bytes = gc::make_bytes(8 + (random >> 56));
    bytes->data()[0] = static_cast<char>(i);
    if (i % 8 == 0) ring->at(static_cast<size_t>(i / 8) % kRing) = bytes;
    sum += static_cast<long>(bytes->length());
  }
  return sum;
}

// 24-byte objects that die at once: allocation and empty minor collections.
long Garbage(int millions) {
  long sum = 0;
  for (int i = 0; i < millions; ++i) {
    for (int j = 0; j < 1000000; ++j) {
      const gc::Local<Cell> cell = gc::make<Cell>(j, nullptr);
      asm volatile("" : : "r"(cell.operator->()) : "memory");
    }
    sum += i;
  }
  return sum;
}

struct Keeper {
  std::optional<long> alloc_minor(const allomon::Allocation& a) {
    return static_cast<long>(a.n_samples);
  }
  std::optional<long> promote(long value) { return value; }
};

void PrintPauses(const char* name, const uint64_t* pauses) {
  for (int i = 0; i < gc::HeapStatistics::kPauseBuckets; ++i) {
    if (pauses[i] != 0) fprintf(stderr, "%s < %u us: %lu\n", name, 1u << i, pauses[i]);
  }
}

int Run(const std::string& workload, int size) {
  if (workload == "bt") return printf("%ld\n", BinaryTrees(size)), 0;
  if (workload == "list") return printf("%ld\n", Lists(size)), 0;
  if (workload == "map") return printf("%ld\n", Map(size)), 0;
  if (workload == "bytes") return printf("%ld\n", ByteStrings(size)), 0;
  if (workload == "garbage") return printf("%ld\n", Garbage(size)), 0;
  fprintf(stderr, "workloads: bt, list, map, bytes, garbage\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return Run("", 0);
  auto heap = gc::Heap::Create();
  if (!heap.ok()) return fprintf(stderr, "%s\n", heap.status().ToString().c_str()), 2;
  if (argc > 3 && !allomon::Tracker::start(atof(argv[3]), Keeper()).ok()) return 2;
  const gc::Mutator mutator(**heap);
  const int result = Run(argv[1], atoi(argv[2]));
  if (getenv("ALLOMON_PAUSES") != nullptr) {
    const gc::HeapStatistics statistics = (*heap)->statistics();
    PrintPauses("minor", statistics.minor_pauses);
    PrintPauses("major", statistics.major_pauses);
    fprintf(stderr, "%lu minor, %lu major, %.1f ms in all, longest %.2f ms\n",
            statistics.minor_collections, statistics.major_collections,
            static_cast<double>(statistics.total_pause_ns) / 1e6,
            static_cast<double>(statistics.longest_pause_ns) / 1e6);
  }
  return result;
}
