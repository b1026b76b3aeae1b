#include "followed_blocks.h"

#include <sys/mman.h>

#include "tracker/base/check.h"
#include "tracker/base/lazy_pages.h"
#include "tracker/base/own_mappings.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::backend {

std::atomic<uint32_t> followed_filter[size_t{1} << kFollowedFilterBits];

namespace {

constexpr uintptr_t kEmpty = 0;
// Its block leaves.  Addresses of blocks are multiples of 8.
constexpr uintptr_t kLeaving = 1;

// 16 bytes.
struct Cell {
  std::atomic<uintptr_t> block;
  std::atomic<uint32_t> handle;  // 0: the cell is empty, or the alloc callbacks are running
};

constexpr size_t kCellsPerBucket = 8;
using Bucket = Cell[kCellsPerBucket];

constexpr int kLevels = 4;
constexpr int kSmallestLevelBits = 12;  // of the number of buckets
constexpr int kBitsPerLevel = 3;

std::atomic<Bucket*> g_levels[kLevels];

constexpr int BitsOf(int level) { return kSmallestLevelBits + level * kBitsPerLevel; }
constexpr size_t BytesOf(int level) { return sizeof(Bucket) << BitsOf(level); }

Bucket& BucketOf(Bucket* level, int bits, const void* block) {
  return level[HashOfBlock(block) >> (64 - bits)];
}

// Fresh pages hold empty cells.  Acquire pairs with the release of the exchange: the level is
// mapped.  nullptr without memory.
Bucket* EnsureLevel(int level) {
  Bucket* known = g_levels[level].load(std::memory_order_acquire);
  if (known != nullptr) return known;
  void* const pages = internal::MapLazyPages(nullptr, BytesOf(level),
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (!internal::sys::IsAddress(pages)) return nullptr;
  Bucket* const fresh = static_cast<Bucket*>(pages);
  if (g_levels[level].compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) {
    internal::NoteMapping(pages, BytesOf(level), internal::MappingUse::kTables);
    return fresh;
  }
  internal::ForgetLazyPages(pages, BytesOf(level));
  internal::sys::Munmap(pages, BytesOf(level));  // another thread was quicker
  return known;
}

Cell* FindIn(Bucket& bucket, uintptr_t content) {
  for (Cell& cell : bucket) {
    if (cell.block.load(std::memory_order_relaxed) == content) return &cell;
  }
  return nullptr;
}

Cell* Find(const void* block) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  if (address == kEmpty || !MayBeFollowed(block)) return nullptr;
  for (int level = 0; level < kLevels; ++level) {
    // Pairs with the release in EnsureLevel().
    Bucket* const buckets = g_levels[level].load(std::memory_order_acquire);
    if (buckets == nullptr) return nullptr;
    if (Cell* const cell = FindIn(BucketOf(buckets, BitsOf(level), block), address)) return cell;
  }
  return nullptr;
}

std::atomic<uint32_t>& FilterOf(const void* block) {
  return followed_filter[HashOfBlock(block) >> (64 - kFollowedFilterBits)];
}

// Another thread may take the empty cell first.  Acquire pairs with the release in LeaveFollowed():
// the handle was set to 0 before this block's is stored.
bool TakeCell(Bucket& bucket, const void* block) {
  for (Cell& cell : bucket) {
    uintptr_t content = cell.block.load(std::memory_order_relaxed);
    if (content == kEmpty &&
        cell.block.compare_exchange_strong(content, reinterpret_cast<uintptr_t>(block),
                                           std::memory_order_acquire)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool EnterFollowed(const void* block) {
  ALLOMON_DCHECK_EQ("inv.followed.once", Find(block), nullptr);
  for (int level = 0; level < kLevels; ++level) {
    Bucket* const buckets = EnsureLevel(level);
    if (buckets == nullptr) return false;
    if (!TakeCell(BucketOf(buckets, BitsOf(level), block), block)) continue;
    FilterOf(block).fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

bool SetHandleOfFollowed(const void* block, uint32_t handle) {
  Cell* const cell = Find(block);
  if (cell == nullptr) return false;
  ALLOMON_DCHECK_EQ("inv.followed.cell", cell->handle.load(std::memory_order_relaxed), 0u);
  cell->handle.store(handle, std::memory_order_relaxed);
  return true;
}

uint32_t LeaveFollowed(const void* block) {
  Cell* const cell = Find(block);
  if (cell == nullptr) return 0;
  uintptr_t content = reinterpret_cast<uintptr_t>(block);
  if (!cell->block.compare_exchange_strong(content, kLeaving, std::memory_order_relaxed)) return 0;
  const uint32_t handle = cell->handle.exchange(0, std::memory_order_relaxed);
  cell->block.store(kEmpty, std::memory_order_release);
  [[maybe_unused]] const uint32_t before = FilterOf(block).fetch_sub(1, std::memory_order_relaxed);
  ALLOMON_DCHECK_NE("inv.followed.filter", before, 0u);
  return handle;
}

}  // namespace allomon::backend
