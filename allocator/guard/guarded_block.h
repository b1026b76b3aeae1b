// The slow paths of guarded blocks: the choice of samples, allocation and free.  See "The guard" in
// allocator/README.md.
//
// All functions are thread safe and preserve errno unless they fail.  PlaceGuarded() and the frees
// run the user's callbacks.
#ifndef ALLOMON_ALLOCATOR_GUARD_GUARDED_BLOCK_H_
#define ALLOMON_ALLOCATOR_GUARD_GUARDED_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/guard/guarded_pool.h"
#include "allocator/host/entry_point.h"
#include "tracker/heap_client.h"

namespace allomon::internal {

// Whether the guard chooses blocks at all.  Acquire pairs with the release in BeginGuarding(), so
// the caller sees the whole pool.
extern std::atomic<bool> guard_is_on __attribute__((visibility("hidden")));
inline bool GuardIsOn() { return guard_is_on.load(std::memory_order_acquire); }

// Begins to guard one of `one_in` sampled blocks, on average.  The choices are drawn from `seed`.
// Called after GuardedPool::Reserve().
void BeginGuarding(uint32_t one_in, uint64_t seed);
void EndGuarding();

// Whether the guard chooses the block just judged to be sampled.  Cost: an atomic decrement.
bool DrawGuarded();

// Answers a verdict other than kNotSampled with a guarded, zero-filled block.  Returns nullptr if
// it cannot make a guarded block; then the caller must answer the verdict.
void* PlaceGuarded(size_t size_bytes, size_t alignment_bytes, EntryPoint entry,
                   heap_client::Verdict verdict, const FrameState& caller);

inline bool IsGuarded(const void* block) { return TheGuardedPool().Contains(block); }

// Both functions free a pointer into the pool.  They report an error, and end the program unless
// GoOnAfterErrors() was called.  If the program continues and there is a block to free, they free
// it.
ALLOMON_MALLOC_SLOW void FreeGuardedSlow(void* block, size_t size_bytes, EntryPoint entry);
void FreeGuarded(void* block, size_t size_bytes, EntryPoint entry, const FrameState& caller);

// Returns the size as requested, not a larger usable size: the bytes after the block are compared
// when it is freed.  0 if no live block starts there.
size_t GuardedBytes(const void* block);

// The size of the block for realloc.  `exists` is false after a reported error.
struct GuardedExtent {
  bool exists;
  size_t size_bytes;
};
GuardedExtent CheckBeforeRealloc(const void* block, const FrameState& caller);

struct GuardCounts {
  uint64_t guarded;
  uint64_t too_large;
  uint64_t no_room;
};
GuardCounts CountsOfGuard();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_GUARDED_BLOCK_H_
