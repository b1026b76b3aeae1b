// Chunks whose pages have been touched, ready for the old space to grow.
//
// The first touch of a page takes a microsecond on an idle machine, and many microseconds on a
// virtual machine when the host must find the memory.  A minor collection that copies into new
// pages would be prolonged by all their faults.  So the heap's own thread touches the pages
// earlier.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_CHUNK_STOCK_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_CHUNK_STOCK_H_

#include <atomic>

#include "runtime/internal/space/chunk.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

enum class ChunkPages {
  kLater,    // pages come when a block is taken
  kTouched,  // all of them, one after the other
  kHuge,     // all pages, or a huge page, as far as the system provides them
};

// Allocates the memory of a chunk and sets only `huge` and `touched`; nullptr if the backend has no
// memory.
Chunk* NewChunkMemory(ChunkPages pages);
void FreeChunkMemory(Chunk* chunk);
// Frees chunks that are linked by next_released.
void FreeChunks(Chunk* first);

// Any thread.
class ChunkStock {
 public:
  ChunkStock() = default;
  ~ChunkStock();
  ChunkStock(const ChunkStock&) = delete;
  ChunkStock& operator=(const ChunkStock&) = delete;

  // Sets whether the stock is to be filled from now on.
  void SetWanted(bool wanted) { wanted_.store(wanted, std::memory_order_relaxed); }
  bool IsShort() const {
    return wanted_.load(std::memory_order_relaxed) &&
           n_chunks_.load(std::memory_order_relaxed) < kMostChunks;
  }
  // Adds a chunk; false if the stock is full, or there is no memory.  Cost: the page faults of a
  // chunk.
  bool Add();
  // Returns nullptr if the stock is empty.
  Chunk* Take();

  void LockForFork();
  void UnlockAfterFork();

 private:
  // Enough for a full nursery of the default size, twice.
  static constexpr size_t kMostChunks = 2;

  std::atomic<bool> wanted_{false};
  std::atomic<size_t> n_chunks_{0};
  Mutex mutex_;
  Chunk* first_ ALLOMON_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_CHUNK_STOCK_H_
