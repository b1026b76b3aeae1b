// Asks for memory that it does not use, each kind in a function of its own.
//
//   unused_blocks: 20,000 nodes of 65 bytes and as many of 64 stay live, and so do 20 vectors that
//   grew to 10,000 elements and a buffer that realloc made larger nine times.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define KEPT __attribute__((noinline))

struct Cell {
  int values[4];
};

constexpr int kNodes = 20000;
constexpr int kVectors = 20;
constexpr int kCells = 10000;
constexpr size_t kFirstBytes = 1000;
constexpr int kDoublings = 9;

// Lets no block be optimized away.
KEPT void Use(const volatile void* block) { asm volatile("" : : "r"(block) : "memory"); }

KEPT void JustAboveAClass() { Use(std::malloc(65)); }
KEPT void OfAClass() { Use(std::malloc(64)); }
KEPT void OfManySizes(int i) { Use(std::malloc(static_cast<size_t>(1000 + i % 400))); }

KEPT void GrowVector() {
  auto* cells = new std::vector<Cell>();
  for (int i = 0; i < kCells; ++i) cells->push_back({});
  Use(cells->data());
}

KEPT void ReserveVector() {
  auto* cells = new std::vector<Cell>();
  cells->reserve(kCells);
  for (int i = 0; i < kCells; ++i) cells->push_back({});
  Use(cells->data());
}

KEPT void GrowBuffer() {
  void* buffer = nullptr;
  for (int i = 0; i <= kDoublings; ++i) {
    buffer = std::realloc(buffer, kFirstBytes << i);
    Use(buffer);
  }
}

int main() {
  for (int i = 0; i < kNodes; ++i) {
    JustAboveAClass();
    OfAClass();
  }
  for (int i = 0; i < 400; ++i) OfManySizes(i);
  for (int i = 0; i < kVectors; ++i) {
    GrowVector();
    ReserveVector();
  }
  GrowBuffer();
  puts("done");
}
