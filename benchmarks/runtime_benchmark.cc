// Workloads for managed heaps.  benchmarks/runtime_peers has the same programs for OCaml and for
// Boehm's collector, and runtime_compare.py runs them in turn.
//
//   runtime_benchmark <workload> <size> [sampling rate]
//
// Prints a checksum, which shows that the peers do the same work, and with ALLOMON_PAUSES=1 the
// pauses.
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

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

// Builds, maps, filters, reverses and sums a list of 10,000 cells.  With kInPlace lists are
// assigned by Local::emplace(), as in hot loops, otherwise by assigning make().
template <bool kInPlace>
__attribute__((always_inline)) inline void Cons(gc::Local<Cell>& list, long head) {
  if constexpr (kInPlace) {
    list.emplace(head, list);
  } else {
    list = gc::make<Cell>(head, list);
  }
}
template <bool kInPlace>
gc::Local<Cell> Build(long n) {
  gc::Local<Cell> list;
  for (long i = 0; i < n; ++i) Cons<kInPlace>(list, i);
  return list;
}
template <bool kInPlace>
gc::Local<Cell> RevMap(gc::Handle<Cell> list) {
  gc::Local<Cell> out;
  for (gc::Local<Cell> c = list; c; c = c->tail) Cons<kInPlace>(out, c->head * 3 + 1);
  return out;
}
template <bool kInPlace>
gc::Local<Cell> Filter(gc::Handle<Cell> list) {
  gc::Local<Cell> out;
  for (gc::Local<Cell> c = list; c; c = c->tail) {
    if (c->head % 2 == 0) Cons<kInPlace>(out, c->head);
  }
  return out;
}
template <bool kInPlace>
gc::Local<Cell> Reverse(gc::Handle<Cell> list) {
  gc::Local<Cell> out;
  for (gc::Local<Cell> c = list; c; c = c->tail) Cons<kInPlace>(out, c->head);
  return out;
}
template <bool kInPlace>
long Lists(int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    const gc::Local<Cell> list =
        Reverse<kInPlace>(Filter<kInPlace>(RevMap<kInPlace>(Build<kInPlace>(10000))));
    for (gc::Local<Cell> c = list; c; c = c->tail) sum += c->head;
  }
  return sum;
}

// A persistent AVL map.  Half of the operations are removals.
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

// Byte strings of 8 to 263 bytes.  One of eight is kept in a ring.
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

// 50 MB of byte strings of one length, each replaced twelve times at random.
long Steady(int bytes_each) {
  const size_t n = 50'000'000 / static_cast<size_t>(bytes_each);
  const gc::Local<gc::Array<gc::Bytes>> table = gc::make_array<gc::Bytes>(n);
  uint64_t random = 42;
  long sum = 0;
  for (size_t i = 0; i < 13 * n; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const gc::Local<gc::Bytes> bytes = gc::make_bytes(static_cast<size_t>(bytes_each));
    bytes->data()[0] = static_cast<char>(i & 127);
    table->at(i < n ? i : static_cast<size_t>(random >> 33) % n) = bytes;
  }
  for (size_t i = 0; i < n; ++i) sum += table->at(i)->data()[0];
  return sum;
}

// 24-byte objects that die at once: the cost is that of allocation and of empty minor collections.
long Garbage(int millions) {
  long sum = 0;
  for (int i = 0; i < millions; ++i) {
    for (int j = 0; j < 1000000; ++j) {
      const gc::Local<Cell> cell = gc::make<Cell>(j, nullptr);
      asm volatile("" : : "r"(cell.operator->()));
    }
    sum += i;
  }
  return sum;
}

// The same, assigned to one Local.
long GarbageInPlace(int millions) {
  long sum = 0;
  gc::Local<Cell> cell;
  for (int i = 0; i < millions; ++i) {
    for (int j = 0; j < 1000000; ++j) {
      cell.emplace(j, nullptr);
      asm volatile("" : : "r"(cell.operator->()));
    }
    sum += i;
  }
  return sum;
}

// A long-lived tree and a table of a million references, beside garbage.  One allocation of a
// hundred is stored into the table, and every sixteenth step swaps two old subtrees.
uint32_t NextRandom(uint32_t* state) {
  return *state = (*state * 1103515245u + 12345u) & 0x7fffffffu;
}

void SwapChildren(gc::Handle<Tree> tree, uint32_t path) {
  gc::Local<Tree> node = tree;
  for (int level = 0; level < 10; ++level, path >>= 1) {
    node = (path & 1) != 0 ? node->left : node->right;
  }
  const gc::Local<Tree> left = node->left;
  node->left = node->right;
  node->right = left;
}

long LongLived(int millions) {
  constexpr size_t kTable = 1000000;
  const gc::Local<Tree> tree = MakeTree(20);
  const gc::Local<gc::Array<Cell>> table = gc::make_array<Cell>(kTable);
  uint32_t random = 42;
  for (long i = 0; i < millions * 1000000L; ++i) {
    const gc::Local<Cell> cell = gc::make<Cell>(i, nullptr);
    NextRandom(&random);
    if ((random >> 8) % 100 == 0) table->at(NextRandom(&random) % kTable) = cell;
    if (i % 16 == 0) SwapChildren(tree, random >> 8);
  }
  long sum = Check(tree);
  for (size_t i = 0; i < kTable; ++i) sum += table->at(i) ? table->at(i)->head : 0;
  return sum;
}

// GCBench of Ellis, Kovac and Boehm: trees made from the top down and from the bottom up, beside a
// long-lived one and an array of numbers.
struct GcNode {
  gc::Field<GcNode> left;
  gc::Field<GcNode> right;
  int i;
  int j;
};

gc::Local<GcNode> NewNode() { return gc::make<GcNode>(nullptr, nullptr, 0, 0); }

void Populate(int depth, gc::Handle<GcNode> node) {
  if (depth <= 0) return;
  node->left = NewNode();
  node->right = NewNode();
  Populate(depth - 1, node->left);
  Populate(depth - 1, node->right);
}

gc::Local<GcNode> MakeGcTree(int depth) {
  if (depth <= 0) return NewNode();
  return gc::make<GcNode>(MakeGcTree(depth - 1), MakeGcTree(depth - 1), 0, 0);
}

int TreeSize(int depth) { return (1 << (depth + 1)) - 1; }

long CountNodes(const GcNode* node) {
  return node == nullptr
             ? 0
             : 1 + CountNodes(node->left.operator->()) + CountNodes(node->right.operator->());
}

long GcBench(int depth) {
  long sum = CountNodes(MakeGcTree(depth + 2).operator->());
  const gc::Local<GcNode> long_lived = NewNode();
  Populate(depth, long_lived);
  constexpr size_t kNumbers = 500000;
  const gc::Local<gc::Bytes> numbers = gc::make_bytes(kNumbers * sizeof(double));
  for (size_t i = 1; i < kNumbers / 2; ++i) {
    reinterpret_cast<double*>(numbers->data())[i] = 1.0 / static_cast<double>(i);
  }
  for (int d = 4; d <= depth; d += 2) {
    const int iterations = 2 * TreeSize(depth + 2) / TreeSize(d);
    for (int i = 0; i < iterations; ++i) {
      const gc::Local<GcNode> tree = NewNode();
      Populate(d, tree);
    }
    for (int i = 0; i < iterations; ++i) sum += MakeGcTree(d) ? 1 : 0;
  }
  return sum + CountNodes(long_lived.operator->()) +
         (reinterpret_cast<double*>(numbers->data())[1000] == 0.001 ? 1 : 0);
}

// Makes garbage below 2,000 frames; each sample captures that stack.
__attribute__((noinline)) long Deep(int frames, int millions) {
  if (frames == 0) return Garbage(millions);
  const long result = Deep(frames - 1, millions);
  asm volatile("" : : : "memory");  // no tail call
  return result;
}

// Binary trees in two threads at once.
long TwoThreads(gc::Heap& heap, int depth) {
  long other = 0;
  std::thread second([&heap, &other, depth] {
    const gc::Mutator mutator(heap);
    other = BinaryTrees(depth);
  });
  const long own = BinaryTrees(depth);
  const gc::NativeRegion waits;
  second.join();
  return own + other;
}

// Each frame has its own live object; the innermost makes garbage and a few survivors.
__attribute__((noinline)) long Descend(int frames, int millions) {
  const gc::Local<Cell> own = gc::make<Cell>(frames, nullptr);
  const long below = frames == 0 ? Garbage(millions) : Descend(frames - 1, millions);
  return below + own->head;
}

// The stack of the first thread is too small for a million frames.
long LiveFrames(gc::Heap& heap, int frames, int millions) {
  struct Work {
    gc::Heap& heap;
    int frames;
    int millions;
    long sum;
  } work = {heap, frames, millions, 0};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{1} << 30);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    Work& work = *static_cast<Work*>(argument);
    const gc::Mutator mutator(work.heap);
    work.sum = Descend(work.frames, work.millions);
    return nullptr;
  };
  const gc::NativeRegion native;
  if (pthread_create(&thread, &attributes, run, &work) != 0) abort();
  pthread_join(thread, nullptr);
  return work.sum;
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

// Notes each pause exactly; the heap's statistics have only powers of two.
class MinorPauses : public gc::HeapListener {
 public:
  MinorPauses() { pauses_us_.reserve(1 << 20); }
  void OnCollectionEnd(gc::CollectionKind kind, uint64_t pause_ns) override {
    if (kind == gc::CollectionKind::kMinor && pauses_us_.size() < pauses_us_.capacity()) {
      pauses_us_.push_back(pause_ns / 1000);
    }
  }
  uint64_t Percentile99() {
    if (pauses_us_.empty()) return 0;
    std::sort(pauses_us_.begin(), pauses_us_.end());
    return pauses_us_[(pauses_us_.size() - 1) * 99 / 100];
  }

 private:
  std::vector<uint64_t> pauses_us_;
};

int Usage() {
  fprintf(
      stderr,
      "workloads: bt, bt2, list, list_make, map, gen, gcbench, bytes, steady, garbage, garbage1, "
      "deep, frames10000, frames100000, frames1000000\n");
  return 2;
}

int Run(gc::Heap& heap, const std::string& workload, int size) {
  if (workload == "bt") return printf("%ld\n", BinaryTrees(size)), 0;
  if (workload == "list") return printf("%ld\n", Lists<true>(size)), 0;
  if (workload == "list_make") return printf("%ld\n", Lists<false>(size)), 0;
  if (workload == "map") return printf("%ld\n", Map(size)), 0;
  if (workload == "bytes") return printf("%ld\n", ByteStrings(size)), 0;
  if (workload == "steady") return printf("%ld\n", Steady(size)), 0;
  if (workload == "garbage") return printf("%ld\n", Garbage(size)), 0;
  if (workload == "garbage1") return printf("%ld\n", GarbageInPlace(size)), 0;
  if (workload == "gen") return printf("%ld\n", LongLived(size)), 0;
  if (workload == "gcbench") return printf("%ld\n", GcBench(size)), 0;
  if (workload == "deep") return printf("%ld\n", Deep(2000, size)), 0;
  if (workload.rfind("frames", 0) == 0) {
    return printf("%ld\n", LiveFrames(heap, atoi(workload.c_str() + 6), size)), 0;
  }
  if (workload == "bt2") return printf("%ld\n", TwoThreads(heap, size)), 0;
  return Usage();
}

int Measure(int argc, char** argv, gc::HeapOptions options) {
  auto heap = gc::Heap::Create(options);
  if (!heap.ok()) return fprintf(stderr, "%s\n", heap.status().ToString().c_str()), 2;
  if (argc > 3 && !allomon::Tracker::start(atof(argv[3]), Keeper()).ok()) return 2;
  const gc::Mutator mutator(**heap);
  const int result = Run(**heap, argv[1], atoi(argv[2]));
  if (options.listener == nullptr) return result;
  const gc::HeapStatistics statistics = (*heap)->statistics();
  PrintPauses("minor", statistics.minor_pauses);
  PrintPauses("major", statistics.major_pauses);
  fprintf(stderr, "%lu minor, %lu major, %.1f ms in all, longest %.2f ms\n",
          statistics.minor_collections, statistics.major_collections,
          static_cast<double>(statistics.total_pause_ns) / 1e6,
          static_cast<double>(statistics.longest_pause_ns) / 1e6);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return Usage();
  if (getenv("ALLOMON_PAUSES") == nullptr) return Measure(argc, argv, {});
  MinorPauses pauses;
  gc::HeapOptions options;
  options.listener = &pauses;
  const int result = Measure(argc, argv, options);
  fprintf(stderr, "99 %% of the minor ones within %lu us\n", pauses.Percentile99());
  return result;
}
