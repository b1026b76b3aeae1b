// A pool of blocks of one size, which tells Allomon of each: without that, a profile has the pool's
// slabs, or nothing where it maps them itself, and not the code that asks the pool.
//
//   LD_PRELOAD=liballomon.so ALLOMON_RECORD=pool.rec bazel-bin/examples/memory_pool
//   allomon report --by=source pool.rec
//
// Two calls, in Take() and Give().  Nothing of Allomon is linked: elsewhere they do nothing.
#include <allomon/custom_memory.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <new>
#include <vector>

namespace {

class Pool {
 public:
  // Blocks of so many bytes; slabs are not given back.
  explicit Pool(size_t block_bytes)
      : block_bytes_(block_bytes), cell_bytes_((kHeadBytes + block_bytes + 15) / 16 * 16) {}

  __attribute__((noinline)) void* Take() {
    if (free_ == nullptr) AddSlab();
    Cell* const cell = free_;
    free_ = cell->next;
    cell->memory = allomon_custom_memory_report(block_bytes_);
    return reinterpret_cast<char*>(cell) + kHeadBytes;
  }

  void Give(void* block) {
    Cell* const cell = reinterpret_cast<Cell*>(static_cast<char*>(block) - kHeadBytes);
    allomon_custom_memory_release(cell->memory);
    cell->next = free_;
    free_ = cell;
  }

 private:
  union Cell {
    Cell* next;                    // of a free one
    allomon_custom_memory memory;  // of one in use
  };
  static constexpr size_t kHeadBytes = 16;
  static constexpr size_t kSlabBytes = size_t{1} << 20;

  void AddSlab() {
    void* const slab =
        mmap(nullptr, kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED) throw std::bad_alloc();
    for (size_t at = 0; at + cell_bytes_ <= kSlabBytes; at += cell_bytes_) {
      auto* const cell = reinterpret_cast<Cell*>(static_cast<char*>(slab) + at);
      cell->next = free_;
      free_ = cell;
    }
  }

  const size_t block_bytes_;
  const size_t cell_bytes_;
  Cell* free_ = nullptr;
};

constexpr size_t kBlockBytes = 240;

// Keeps what it takes.
__attribute__((noinline)) void FillCache(Pool* pool, std::vector<void*>* cache) {
  for (int i = 0; i < 20000; ++i) cache->push_back(pool->Take());
}

// Keeps the last hundred.
__attribute__((noinline)) void ServeRequests(Pool* pool, std::deque<void*>* recent) {
  for (int i = 0; i < 50000; ++i) {
    recent->push_back(pool->Take());
    if (recent->size() <= 100) continue;
    pool->Give(recent->front());
    recent->pop_front();
  }
}

}  // namespace

int main() {
  Pool pool(kBlockBytes);
  std::vector<void*> cache;
  std::deque<void*> recent;
  FillCache(&pool, &cache);
  ServeRequests(&pool, &recent);
  printf("%zu blocks\n", cache.size() + recent.size());
  fflush(stdout);
  _Exit(0);  // the blocks live to the end
}
