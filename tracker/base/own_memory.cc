#include "tracker/base/own_memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace allomon::internal {
namespace {

size_t RoundUpToPages(size_t size_bytes) {
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (size_bytes + page_bytes - 1) & ~(page_bytes - 1);
}

}  // namespace

std::atomic<size_t> OwnMemory::mapped_bytes_{0};
std::atomic<size_t> OwnMemory::budget_bytes_{kDefaultOwnMemoryBudgetBytes};

void OwnMemory::SetBudgetBytes(size_t budget_bytes) {
  budget_bytes_.store(budget_bytes, std::memory_order_relaxed);
}

void* OwnMemory::Map(size_t size_bytes) {
  const size_t rounded = RoundUpToPages(size_bytes);
  const size_t before = mapped_bytes_.fetch_add(rounded, std::memory_order_relaxed);
  if (before + rounded <= budget_bytes_.load(std::memory_order_relaxed)) {
    void* pages = mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages != MAP_FAILED) return pages;
  }
  mapped_bytes_.fetch_sub(rounded, std::memory_order_relaxed);
  return nullptr;
}

void OwnMemory::Unmap(void* pages, size_t size_bytes) {
  const size_t rounded = RoundUpToPages(size_bytes);
  if (munmap(pages, rounded) == 0) mapped_bytes_.fetch_sub(rounded, std::memory_order_relaxed);
}

bool BumpArena::EnsureChunk(size_t index) {
  if (chunks_[index].load(std::memory_order_acquire) != nullptr) return true;
  char* fresh = static_cast<char*>(OwnMemory::Map(kChunkBytes));
  if (fresh == nullptr) return false;
  char* expected = nullptr;
  // Release pairs with the acquire in At().  The pages of a thread that loses the race stay
  // untouched.
  chunks_[index].compare_exchange_strong(expected, fresh, std::memory_order_release,
                                         std::memory_order_relaxed);
  return true;
}

BumpArena::Ref BumpArena::Allocate(size_t size_bytes) {
  if (size_bytes > kChunkBytes) return 0;
  const uint64_t rounded = size_bytes == 0 ? 8 : (size_bytes + 7) & ~uint64_t{7};
  uint64_t next = next_byte_.load(std::memory_order_relaxed);
  while (true) {
    // A piece never straddles two chunks: the rest of the first is given up.
    const uint64_t room = kChunkBytes - next % kChunkBytes;
    const uint64_t start = rounded <= room ? next : next + room;
    const size_t chunk = start / kChunkBytes;
    // Nothing is taken before it is there, so a time without memory does not use up the arena.
    if (chunk >= kChunks || !EnsureChunk(chunk)) return 0;
    if (next_byte_.compare_exchange_weak(next, start + rounded, std::memory_order_relaxed)) {
      return static_cast<Ref>(start / 8);
    }
  }
}

void* BumpArena::At(Ref ref) const {
  const uint64_t byte = uint64_t{ref} * 8;
  return chunks_[byte / kChunkBytes].load(std::memory_order_acquire) + byte % kChunkBytes;
}

}  // namespace allomon::internal
