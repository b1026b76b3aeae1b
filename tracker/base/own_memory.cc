#include "tracker/base/own_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracker/base/lazy_pages.h"
#include "tracker/base/own_mappings.h"
#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {
namespace {

size_t RoundUpToPages(size_t size_bytes) {
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (size_bytes + page_bytes - 1) & ~(page_bytes - 1);
}

void* MapPages(size_t size_bytes) {
  void* const pages =
      MapLazyPages(nullptr, size_bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  return sys::IsAddress(pages) ? pages : nullptr;
}

bool UnmapPages(void* pages, size_t size_bytes) {
  ForgetLazyPages(pages, size_bytes);
  return sys::Munmap(pages, size_bytes) == 0;
}

constexpr size_t kHugePageBytes = size_t{2} << 20;

// A huge page is aligned, so more is mapped than requested, and the excess at both ends is
// unmapped.
void* MapAligned(size_t size_bytes) {
  char* const mapped = static_cast<char*>(MapPages(size_bytes + kHugePageBytes));
  if (mapped == nullptr) return nullptr;
  const size_t before = -reinterpret_cast<uintptr_t>(mapped) % kHugePageBytes;
  if (before != 0) UnmapPages(mapped, before);
  UnmapPages(mapped + before + size_bytes, kHugePageBytes - before);
  return mapped + before;
}

}  // namespace

std::atomic<size_t> OwnMemory::mapped_bytes_{0};
std::atomic<size_t> OwnMemory::budget_bytes_{kDefaultOwnMemoryBudgetBytes};

void OwnMemory::SetBudgetBytes(size_t budget_bytes) {
  budget_bytes_.store(budget_bytes, std::memory_order_relaxed);
}

void* OwnMemory::Map(size_t size_bytes) { return MapWithinBudget(size_bytes, MapPages); }

void* OwnMemory::MapForDense(size_t size_bytes) { return MapWithinBudget(size_bytes, MapAligned); }

void OwnMemory::MakeDense(void* pages, size_t size_bytes) {
  if (reinterpret_cast<uintptr_t>(pages) % kHugePageBytes != 0) return;
  const int saved_errno = errno;
  madvise(pages, size_bytes, MADV_HUGEPAGE);
  errno = saved_errno;
}

void* OwnMemory::MapWithinBudget(size_t size_bytes, void* (*map)(size_t)) {
  const size_t rounded = RoundUpToPages(size_bytes);
  const size_t before = mapped_bytes_.fetch_add(rounded, std::memory_order_relaxed);
  if (before + rounded <= budget_bytes_.load(std::memory_order_relaxed)) {
    void* pages = map(rounded);
    if (pages != nullptr) {
      NoteMapping(pages, rounded, MappingUse::kTables);
      return pages;
    }
  }
  mapped_bytes_.fetch_sub(rounded, std::memory_order_relaxed);
  return nullptr;
}

void OwnMemory::Unmap(void* pages, size_t size_bytes) {
  const size_t rounded = RoundUpToPages(size_bytes);
  ForgetMapping(pages);
  if (UnmapPages(pages, rounded)) mapped_bytes_.fetch_sub(rounded, std::memory_order_relaxed);
}

// Release pairs with the acquire in At().  The pages of a thread that loses a race stay untouched.
void BumpArena::AddChunk(size_t index, char* memory) {
  char* expected = nullptr;
  chunks_[index].compare_exchange_strong(expected, memory, std::memory_order_release,
                                         std::memory_order_relaxed);
}

void BumpArena::MapDenseChunks(size_t first) {
  char* const fresh = static_cast<char*>(OwnMemory::MapForDense(kDenseChunks * kChunkBytes));
  if (fresh == nullptr) return;
  if (first > kFirstDenseChunk) {
    // Pairs with the release in AddChunk(): the pages are mapped.
    OwnMemory::MakeDense(chunks_[first - kDenseChunks].load(std::memory_order_acquire),
                         kDenseChunks * kChunkBytes);
  }
  for (size_t i = 0; i < kDenseChunks; ++i) AddChunk(first + i, fresh + i * kChunkBytes);
}

bool BumpArena::EnsureChunk(size_t index) {
  const std::atomic<char*>& chunk = chunks_[index];
  // Pairs with the release in AddChunk(), also below.
  if (chunk.load(std::memory_order_acquire) != nullptr) return true;
  if (index >= kFirstDenseChunk) MapDenseChunks(index - index % kDenseChunks);
  // Near the end of the budget there may be room for a single chunk.
  if (chunk.load(std::memory_order_acquire) != nullptr) return true;
  char* const fresh = static_cast<char*>(OwnMemory::Map(kChunkBytes));
  if (fresh == nullptr) return false;
  AddChunk(index, fresh);
  return true;
}

BumpArena::Ref BumpArena::Allocate(size_t size_bytes) {
  if (size_bytes > kChunkBytes) return 0;
  const uint64_t rounded = size_bytes == 0 ? 8 : (size_bytes + 7) & ~uint64_t{7};
  uint64_t next = next_byte_.load(std::memory_order_relaxed);
  while (true) {
    // A piece never straddles two chunks: the rest of the first is left unused.
    const uint64_t room = kChunkBytes - next % kChunkBytes;
    const uint64_t start = rounded <= room ? next : next + room;
    const size_t chunk = start / kChunkBytes;
    // The chunk is mapped before the piece is taken, so a temporary lack of memory does not use up
    // the arena.
    if (chunk >= kChunks || !EnsureChunk(chunk)) return 0;
    if (next_byte_.compare_exchange_weak(next, start + rounded, std::memory_order_relaxed)) {
      return static_cast<Ref>(start / 8);
    }
  }
}

void* BumpArena::At(Ref ref) const {
  const uint64_t byte = uint64_t{ref} * 8;
  // Pairs with the release in AddChunk(). The reference was published after the chunk.
  return chunks_[byte / kChunkBytes].load(std::memory_order_acquire) + byte % kChunkBytes;
}

}  // namespace allomon::internal
