// The workloads of runtime_benchmark.cc on Boehm's collector.
#include <gc/gc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Tree {
  Tree* left;
  Tree* right;
};
struct Cell {
  long head;
  Cell* tail;
};
struct Node {
  long key;
  long height;
  Node* left;
  Node* right;
};

template <typename T>
T* New(T value) {
  T* object = static_cast<T*>(GC_MALLOC(sizeof(T)));
  *object = value;
  return object;
}

Tree* MakeTree(int depth) {
  if (depth == 0) return New<Tree>({nullptr, nullptr});
  Tree* left = MakeTree(depth - 1);
  return New<Tree>({left, MakeTree(depth - 1)});
}
long Check(const Tree* tree) { return tree->left ? 1 + Check(tree->left) + Check(tree->right) : 1; }
long BinaryTrees(int depth) {
  long sum = Check(MakeTree(depth + 1));
  Tree* volatile long_lived = MakeTree(depth);
  for (int d = 4; d <= depth; d += 4) {
    for (int i = 0; i < 1 << (depth - d + 4); ++i) sum += Check(MakeTree(d));
  }
  return sum + Check(long_lived);
}

long Lists(int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    Cell *built = nullptr, *mapped = nullptr, *filtered = nullptr, *reversed = nullptr;
    for (long k = 0; k < 10000; ++k) built = New<Cell>({k, built});
    for (Cell* c = built; c; c = c->tail) mapped = New<Cell>({c->head * 3 + 1, mapped});
    for (Cell* c = mapped; c; c = c->tail) {
      if (c->head % 2 == 0) filtered = New<Cell>({c->head, filtered});
    }
    for (Cell* c = filtered; c; c = c->tail) reversed = New<Cell>({c->head, reversed});
    for (Cell* c = reversed; c; c = c->tail) sum += c->head;
  }
  return sum;
}

long Height(const Node* node) { return node ? node->height : 0; }
Node* Join(Node* left, long key, Node* right) {
  const long l = Height(left), r = Height(right);
  return New<Node>({key, (l > r ? l : r) + 1, left, right});
}
Node* Balance(Node* left, long key, Node* right) {
  const long difference = Height(left) - Height(right);
  if (difference > 2) {
    if (Height(left->left) >= Height(left->right)) {
      return Join(left->left, left->key, Join(left->right, key, right));
    }
    Node* middle = left->right;
    return Join(Join(left->left, left->key, middle->left), middle->key,
                Join(middle->right, key, right));
  }
  if (difference < -2) {
    if (Height(right->right) >= Height(right->left)) {
      return Join(Join(left, key, right->left), right->key, right->right);
    }
    Node* middle = right->left;
    return Join(Join(left, key, middle->left), middle->key,
                Join(middle->right, right->key, right->right));
  }
  return Join(left, key, right);
}
Node* Add(Node* node, long key) {
  if (!node) return New<Node>({key, 1, nullptr, nullptr});
  if (key == node->key) return node;
  if (key < node->key) return Balance(Add(node->left, key), node->key, node->right);
  return Balance(node->left, node->key, Add(node->right, key));
}
long MinKey(const Node* node) {
  while (node->left) node = node->left;
  return node->key;
}
Node* RemoveMin(Node* node) {
  if (!node->left) return node->right;
  return Balance(RemoveMin(node->left), node->key, node->right);
}
Node* Remove(Node* node, long key) {
  if (!node) return nullptr;
  if (key < node->key) return Balance(Remove(node->left, key), node->key, node->right);
  if (key > node->key) return Balance(node->left, node->key, Remove(node->right, key));
  if (!node->left) return node->right;
  if (!node->right) return node->left;
  return Balance(node->left, MinKey(node->right), RemoveMin(node->right));
}
long SumKeys(const Node* node) {
  return node ? node->key + SumKeys(node->left) + SumKeys(node->right) : 0;
}
long Map(int operations) {
  Node* map = nullptr;
  uint64_t random = 42;
  for (int i = 0; i < operations; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const long key = static_cast<long>(random >> 33) % 200000;
    map = (random >> 20) % 2 == 0 ? Add(map, key) : Remove(map, key);
  }
  return SumKeys(map);
}

struct Bytes {
  size_t length;
  char data[];
};
long ByteStrings(int count) {
  Bytes** ring = static_cast<Bytes**>(GC_MALLOC(16384 * sizeof(Bytes*)));
  uint64_t random = 42;
  long sum = 0;
  for (int i = 0; i < count; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const size_t length = 8 + (random >> 56);
    Bytes* bytes = static_cast<Bytes*>(GC_MALLOC_ATOMIC(sizeof(Bytes) + length));
    bytes->length = length;
    memset(bytes->data, 0, length);
    bytes->data[0] = static_cast<char>(i);
    if (i % 8 == 0) ring[i / 8 % 16384] = bytes;
    sum += static_cast<long>(length);
  }
  return sum;
}

long Steady(int bytes_each) {
  const size_t n = 50'000'000 / static_cast<size_t>(bytes_each);
  const size_t size = sizeof(Bytes) + static_cast<size_t>(bytes_each);
  Bytes** table = static_cast<Bytes**>(GC_MALLOC(n * sizeof(Bytes*)));
  uint64_t random = 42;
  long sum = 0;
  for (size_t i = 0; i < 13 * n; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    Bytes* bytes = static_cast<Bytes*>(GC_MALLOC_ATOMIC(size));
    memset(bytes, 0, size);
    bytes->data[0] = static_cast<char>(i & 127);
    table[i < n ? i : (random >> 33) % n] = bytes;
  }
  for (size_t i = 0; i < n; ++i) sum += table[i]->data[0];
  return sum;
}

long Garbage(int millions) {
  long sum = 0;
  for (int i = 0; i < millions; ++i) {
    for (int j = 0; j < 1000000; ++j) {
      Cell* cell = New<Cell>({j, nullptr});
      asm volatile("" : : "r"(cell));
    }
    sum += i;
  }
  return sum;
}

uint32_t NextRandom(uint32_t* state) {
  return *state = (*state * 1103515245u + 12345u) & 0x7fffffffu;
}
void SwapChildren(Tree* node, uint32_t path) {
  for (int level = 0; level < 10; ++level, path >>= 1) {
    node = (path & 1) != 0 ? node->left : node->right;
  }
  Tree* left = node->left;
  node->left = node->right;
  node->right = left;
}
long LongLived(int millions) {
  Tree* volatile tree = MakeTree(20);
  Cell** table = static_cast<Cell**>(GC_MALLOC(1000000 * sizeof(Cell*)));
  uint32_t random = 42;
  for (long i = 0; i < millions * 1000000L; ++i) {
    Cell* cell = New<Cell>({i, nullptr});
    NextRandom(&random);
    if ((random >> 8) % 100 == 0) table[NextRandom(&random) % 1000000] = cell;
    if (i % 16 == 0) SwapChildren(tree, random >> 8);
  }
  long sum = Check(tree);
  for (int i = 0; i < 1000000; ++i) sum += table[i] != nullptr ? table[i]->head : 0;
  return sum;
}

struct GcNode {
  GcNode* left;
  GcNode* right;
  int i;
  int j;
};
GcNode* NewNode() { return New<GcNode>({nullptr, nullptr, 0, 0}); }
void Populate(int depth, GcNode* node) {
  if (depth <= 0) return;
  node->left = NewNode();
  node->right = NewNode();
  Populate(depth - 1, node->left);
  Populate(depth - 1, node->right);
}
GcNode* MakeGcTree(int depth) {
  if (depth <= 0) return NewNode();
  GcNode* right = MakeGcTree(depth - 1);
  return New<GcNode>({MakeGcTree(depth - 1), right, 0, 0});
}
int TreeSize(int depth) { return (1 << (depth + 1)) - 1; }
long CountNodes(const GcNode* node) {
  return node == nullptr ? 0 : 1 + CountNodes(node->left) + CountNodes(node->right);
}
long GcBench(int depth) {
  long sum = CountNodes(MakeGcTree(depth + 2));
  GcNode* volatile long_lived = NewNode();
  Populate(depth, long_lived);
  double* numbers = static_cast<double*>(GC_MALLOC_ATOMIC(500000 * sizeof(double)));
  memset(numbers, 0, 500000 * sizeof(double));
  for (int i = 1; i < 250000; ++i) numbers[i] = 1.0 / i;
  for (int d = 4; d <= depth; d += 2) {
    const int iterations = 2 * TreeSize(depth + 2) / TreeSize(d);
    for (int i = 0; i < iterations; ++i) Populate(d, NewNode());
    for (int i = 0; i < iterations; ++i) sum += MakeGcTree(d) != nullptr ? 1 : 0;
  }
  return sum + CountNodes(long_lived) + (numbers[1000] == 0.001 ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  GC_INIT();
  if (argc < 3) return 2;
  const std::string workload = argv[1];
  const int n = atoi(argv[2]);
  const long result = workload == "bt"        ? BinaryTrees(n)
                      : workload == "list"    ? Lists(n)
                      : workload == "map"     ? Map(n)
                      : workload == "bytes"   ? ByteStrings(n)
                      : workload == "steady"  ? Steady(n)
                      : workload == "gen"     ? LongLived(n)
                      : workload == "gcbench" ? GcBench(n)
                                              : Garbage(n);
  printf("%ld\n", result);
}
