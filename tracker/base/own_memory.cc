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
  // Release pairs with the acquire in At(); a lost race leaves untouched pages behind.
  chunks_[index].compare_exchange_strong(expected, fresh, std::memory_order_release,
                                         std::memory_order_relaxed);
  return true;
}

BumpArena::Ref BumpArena::Allocate(size_t size_bytes) {
  const uint64_t rounded = (size_bytes + 7) & ~uint64_t{7};
  if (rounded > kChunkBytes) return 0;
  while (true) {
    const uint64_t start = next_byte_.fetch_add(rounded, std::memory_order_relaxed);
    const size_t chunk = start / kChunkBytes;
    if (chunk >= kChunks) {
      next_byte_.fetch_sub(rounded, std::memory_order_relaxed);
      return 0;
    }
    // A piece never straddles two chunks: the tail of the first is given up.
    if ((start + rounded - 1) / kChunkBytes != chunk) continue;
    if (!EnsureChunk(chunk)) {
      // Given back if nobody came after us: a time without memory must not use up the
      // arena.
      uint64_t end = start + rounded;
      next_byte_.compare_exchange_strong(end, start, std::memory_order_relaxed);
      return 0;
    }
    return static_cast<Ref>(start / 8);
  }
}

void* BumpArena::At(Ref ref) const {
  const uint64_t byte = uint64_t{ref} * 8;
  return chunks_[byte / kChunkBytes].load(std::memory_order_acquire) + byte % kChunkBytes;
}

}  // namespace allomon::internal
