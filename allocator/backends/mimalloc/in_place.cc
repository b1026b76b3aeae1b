// In-place samples: a table from ordinary blocks to their handles.
//
// A block is in the table from its birth to its free, so its page has a live block throughout, and
// the page's flag is cleared only when a page has none.
//
// Most frees of a flagged page are of the block's neighbours.  Such a free looks at one word, which
// has eight bits of the hash of each block of a bucket, and puts the block into the page's list.
//
// The cell of a freed block remains as a tombstone until another block takes it.  A free of that
// address is the second one if the block is still in one of its page's free lists.
//
// Thread safe, without a lock.  A cell belongs to the block in it: another thread frees the block
// only after it was handed over.
#include <atomic>
#include <cstddef>

#include "allomon_backend.h"
#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/formats/process_map.h"

namespace allomon::backend {
namespace {

constexpr uintptr_t kEmpty = 0;
// Addresses of blocks are multiples of 8.
constexpr uintptr_t kTombstone = 1;

struct Cell {
  std::atomic<uintptr_t> block;
  std::atomic<uint32_t> handle;  // 0: the alloc callbacks are running
};

constexpr size_t kCellsPerBucket = 8;
constexpr int kBucketBits = 12;

// Touched only if blocks are followed in place.
ALLOMON_LARGE_ZEROS Cell g_cells[size_t{1} << kBucketBits][kCellsPerBucket];
// A byte for each cell of the bucket: the tag of the block that was entered there last.
ALLOMON_LARGE_ZEROS std::atomic<uint64_t> g_tags[size_t{1} << kBucketBits];
static_assert(kCellsPerBucket == sizeof(g_tags[0]));
std::atomic<const InPlaceListener*> g_listener{nullptr};
std::atomic<uint64_t> g_without_room{0};

struct Hash {
  size_t bucket;
  uint8_t tag;
};
Hash HashOf(uintptr_t address) {
  const uint64_t bits = (address >> 3) * 0x9E3779B97F4A7C15;
  return {bits >> (64 - kBucketBits), static_cast<uint8_t>(bits >> (64 - kBucketBits - 8))};
}

// Returns a word with the highest bit of each byte set that equals the tag.  Rarely it has a bit of
// another byte, too: each cell is compared afterwards.
uint64_t CellsWithTag(Hash hash) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t differs = g_tags[hash.bucket].load(std::memory_order_relaxed) ^ hash.tag * kOnes;
  return (differs - kOnes) & ~differs & kOnes << 7;
}

Cell* Find(uintptr_t address, uintptr_t content) {
  const Hash hash = HashOf(address);
  for (uint64_t cells = CellsWithTag(hash); cells != 0; cells &= cells - 1) {
    Cell& cell = g_cells[hash.bucket][__builtin_ctzll(cells) / 8];
    if (cell.block.load(std::memory_order_relaxed) == content) return &cell;
  }
  return nullptr;
}
Cell* Find(const void* block) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  return Find(address, address);
}
Cell* FindTombstone(const void* block) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  return Find(address, address | kTombstone);
}

// Whether Find() or FindTombstone() would look at a cell.
bool MayBeInTable(const void* block) {
  return CellsWithTag(HashOf(reinterpret_cast<uintptr_t>(block))) != 0;
}

// Only the thread that has taken the cell sets its tag.  The tag stays when the block leaves.
void SetTag(Hash hash, size_t cell) {
  std::atomic<uint64_t>& tags = g_tags[hash.bucket];
  const int shift = static_cast<int>(cell * 8);
  uint64_t old = tags.load(std::memory_order_relaxed);
  while (!tags.compare_exchange_weak(
      old, (old & ~(uint64_t{0xff} << shift)) | uint64_t{hash.tag} << shift,
      std::memory_order_relaxed)) {
  }
}

Cell* Enter(const void* block) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  const Hash hash = HashOf(address);
  for (size_t i = 0; i < kCellsPerBucket; ++i) {
    Cell& cell = g_cells[hash.bucket][i];
    uintptr_t content = cell.block.load(std::memory_order_relaxed);
    const bool is_taken = content != kEmpty && (content & kTombstone) == 0;
    if (is_taken) continue;
    // Acquire pairs with the release by which the cell was left: its tag of then is older.
    if (cell.block.compare_exchange_strong(content, address, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      SetTag(hash, i);
      return &cell;
    }
  }
  return nullptr;
}

// The handle is read before: the cell may be another block's as soon as it is a tombstone.
bool Leave(Cell* cell, const void* block, uint32_t* handle) {
  uintptr_t address = reinterpret_cast<uintptr_t>(block);
  *handle = cell->handle.load(std::memory_order_relaxed);
  // Release: the tag was set before.
  return cell->block.compare_exchange_strong(address, address | kTombstone,
                                             std::memory_order_release, std::memory_order_relaxed);
}

#if ALLOMON_MIMALLOC_IS_INLINED
constexpr bool kPagesHaveFlags = true;

bool IsInList(const mi_block_t* list, const mi_block_t* block, size_t most) {
  for (; list != nullptr && most > 0; --most) {
    if (list == block) return true;
    list = reinterpret_cast<const mi_block_t*>(list->next);
  }
  return false;
}

#if MI_MALLOC_VERSION == 209
bool IsOwn(const void* block) {
  return _mi_ptr_segment(block)->thread_id.load(std::memory_order_relaxed) == _mi_thread_id();
}
bool HasSegment(const mi_page_t* page) { return BlockBytes(page) >= MI_HUGE_BLOCK_SIZE; }

const mi_block_t* BeginOf(const mi_page_t* page, const void* block) {
  return _mi_page_ptr_unalign(_mi_ptr_segment(block), page, block);
}

// Other threads free the first block of a full page into a list of its heap, which has at most one
// block of each page until the owner takes it.
bool IsInListOfHeap(const mi_page_t* page, const mi_block_t* block) {
  constexpr size_t kMostDelayed = 4096;
  const mi_heap_t* const heap = mi_page_heap(page);
  if (heap == nullptr) return false;
  // Acquire pairs with the release by which mimalloc adds a block: its link is visible.
  return IsInList(heap->thread_delayed_free.load(std::memory_order_acquire), block, kMostDelayed);
}
#else
bool IsOwn(const void* block) {
  const uintptr_t word = PageOf(block)->xthread_id.load(std::memory_order_relaxed);
  return (word & ~MI_PAGE_FLAG_MASK) == _mi_prim_thread_id();
}
bool HasSegment(const mi_page_t* /*page*/) { return false; }

const mi_block_t* BeginOf(const mi_page_t* page, const void* block) {
  return _mi_page_ptr_unalign(page, block);
}
bool IsInListOfHeap(const mi_page_t* /*page*/, const mi_block_t* /*block*/) { return false; }
#endif

// Only the owner of a page sets its flags.  A block with a mapping or a segment of its own shares
// its page with no other.
bool CanBeFlagged(const void* block) {
  return !MayBeMapped(block) && IsOwn(block) && !HasSegment(PageOf(block));
}
void FlagPage(const void* block) { FlagInPlace(PageOf(block)); }
bool IsFlagged(const void* block) { return IsFlaggedInPlace(PageOf(block)); }

// Frees a block of a flagged page that is not followed, or not any more.
__attribute__((always_inline)) inline void FreePlain(void* block) {
  mi_page_t* const page = PageOf(block);
  if (__builtin_expect(!IsOwnWithInPlace(page, block), 0)) return mi_free(block);
  mi_block_t* const start = static_cast<mi_block_t*>(StartWithInPlace(page, block));
  start->next = reinterpret_cast<mi_encoded_t>(page->local_free);
  page->local_free = start;
  if (__builtin_expect(--page->used != 0, 1)) return;
  UnflagInPlace(page);
  _mi_page_retire(page);
}

// Whether the block is in a free list of its page, as far as this thread may read them: other
// threads only push, and only the owner takes.  Cost: up to a look at each free block of the page.
bool IsFree(const void* block) {
  if (!IsOwn(block)) return false;
  const mi_page_t* const page = PageOf(block);
  const mi_block_t* const start = BeginOf(page, block);
  return IsInList(page->local_free, start, page->capacity) ||
         IsInList(page->free, start, page->capacity) ||
         IsInList(mi_page_thread_free(page), start, page->capacity) || IsInListOfHeap(page, start);
}
#else
constexpr bool kPagesHaveFlags = false;
bool CanBeFlagged(const void* /*block*/) { return false; }
void FlagPage(const void* /*block*/) {}
bool IsFlagged(const void* /*block*/) { return false; }
void FreePlain(void* block) { mi_free(block); }
bool IsFree(const void* /*block*/) { return false; }
#endif

// Returns whether this is the second free of a block.
__attribute__((noinline)) bool IsFreedTwice(const void* block) {
  Cell* const tombstone = FindTombstone(block);
  if (tombstone == nullptr) return false;
  if (IsFree(block)) return true;
  // The address was handed out again, or nobody can tell; it is looked at once.
  uintptr_t content = reinterpret_cast<uintptr_t>(block) | kTombstone;
  tombstone->block.compare_exchange_strong(content, kEmpty, std::memory_order_relaxed);
  return false;
}

// Frees a block of a flagged page that may be in the table.
__attribute__((noinline)) void FreeFlagged(void* block, const InPlaceListener* listener) {
  Cell* const cell = Find(block);
  uint32_t handle = 0;
  if (cell == nullptr ? IsFreedTwice(block) : !Leave(cell, block, &handle)) {
    return listener->freed_twice();
  }
  // A callback may end its thread.
  const struct FreedAtEnd {
    ~FreedAtEnd() { FreePlain(block); }
    void* block;
  } freed = {block};
  if (handle != 0) listener->ended(handle);
}

static_assert(kEmpty == 0 && kTombstone == 1, "as process_map::InPlaceBlocks says");

}  // namespace
}  // namespace allomon::backend

// Describes the table to processes that look for the blocks.
extern "C" {
// Referred to by the allocator, which also stands over backends without a table.
extern const allomon::process_map::InPlaceBlocks allomon_in_place_blocks
    __attribute__((visibility("hidden")));
}
const allomon::process_map::InPlaceBlocks allomon_in_place_blocks = {
    &allomon::backend::g_cells,
    &allomon::backend::g_without_room,
    sizeof(allomon::backend::g_cells) / sizeof(allomon::backend::Cell),
    sizeof(allomon::backend::Cell),
    offsetof(allomon::backend::Cell, block),
    offsetof(allomon::backend::Cell, handle),
};

namespace allomon::backend {

bool ListenInPlace(const InPlaceListener* listener) {
  // Pairs with the acquire in FreeRare(): what the listener needs is there.
  g_listener.store(listener, std::memory_order_release);
  return kPagesHaveFlags;
}

bool EnterInPlace(const void* block) {
  if (!CanBeFlagged(block)) return false;
  ALLOMON_DCHECK_EQ("inv.in_place.cell", Find(block), nullptr);
  Cell* const cell = Enter(block);
  if (cell == nullptr) {
    g_without_room.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  cell->handle.store(0, std::memory_order_relaxed);
  FlagPage(block);
  return true;
}

void FollowInPlace(const void* block, uint32_t handle) {
  Cell* const cell = Find(block);
  ALLOMON_DCHECK_NE("inv.in_place.cell", cell, nullptr);
  ALLOMON_DCHECK_EQ("inv.in_place.once", cell->handle.load(std::memory_order_relaxed), 0u);
  if (handle != 0) return cell->handle.store(handle, std::memory_order_relaxed);
  cell->block.store(kEmpty, std::memory_order_release);
}

bool IsFollowedInPlace(const void* block) {
  // Pairs with the release in ListenInPlace().
  if (g_listener.load(std::memory_order_acquire) == nullptr || block == nullptr) return false;
  return IsFlagged(block) && Find(block) != nullptr;
}

// Costs three instructions as long as nothing was ever followed in place.
void FreeRare(void* block) {
  // Pairs with the release in ListenInPlace().
  const InPlaceListener* const listener = g_listener.load(std::memory_order_acquire);
  if (__builtin_expect(listener != nullptr, 0) && block != nullptr && IsFlagged(block)) {
    if (__builtin_expect(MayBeInTable(block), 0)) return FreeFlagged(block, listener);
    return FreePlain(block);
  }
  mi_free(block);
}

}  // namespace allomon::backend
