// The backend's larger blocks, for which an extra call does not matter: mapped ones, and zeroed
// ones above the small sizes.
#include "allomon_backend.h"
#include "tracker/base/check.h"

namespace allomon::backend {
namespace {

void* SetNoMemory() {
  errno = ENOMEM;
  return nullptr;
}

void* MiAligned(size_t alignment_bytes, size_t size_bytes) {
  // mimalloc does not set errno when it refuses a size beyond PTRDIFF_MAX.
  void* const block = mi_malloc_aligned_at(size_bytes, alignment_bytes, 0);
  return block != nullptr ? block : SetNoMemory();
}

// Moves a mapped block whose pages cannot be moved, or that becomes one of mimalloc's blocks.
void* MoveMapped(void* block, size_t mapped_bytes, size_t size_bytes) {
  return ReallocMoving(block, mapped_bytes, size_bytes);
}

// mimalloc keeps memory without live blocks; if memory runs out, it is released to make room.
MapResult MapBlockOrCollect(size_t alignment_bytes, size_t size_bytes, void** block) {
  const MapResult result = MapBlock(alignment_bytes, size_bytes, block);
  if (result != MapResult::kNoMemory) return result;
  mi_collect(true);
  return MapBlock(alignment_bytes, size_bytes, block);
}

}  // namespace

void* AllocateMapped(size_t alignment_bytes, size_t size_bytes) {
  ALLOMON_DCHECK_LT("inv.mapped.pages", kLargestUnmappedBytes, size_bytes);
  void* block = nullptr;
  switch (MapBlockOrCollect(alignment_bytes, size_bytes, &block)) {
    case MapResult::kMapped:
      return block;
    case MapResult::kNoMemory:
      return nullptr;
    case MapResult::kMisplaced:
      break;
  }
  return MiAligned(alignment_bytes, size_bytes);
}

void FreeHigh(void* block) {
  if (!UnmapBlock(block)) FreeRare(block);
}

void* ReallocateHigh(void* block, size_t size_bytes) {
  const size_t mapped_bytes = MappedBytes(block);
  if (mapped_bytes == 0) return ReallocSpecial(block, size_bytes);
  if (size_bytes <= kLargestUnmappedBytes) return MoveMapped(block, mapped_bytes, size_bytes);
  void* const remapped = RemapBlock(block, size_bytes);
  return remapped != nullptr ? remapped : MoveMapped(block, mapped_bytes, size_bytes);
}

void* CallocLarge(size_t size_bytes) {
  if (size_bytes <= kLargestZeroedByMimalloc) return mi_zalloc(size_bytes);
  // A mapping is zero from the start.
  void* const block = MallocLarge(size_bytes);
  if (block == nullptr || MappedBytes(block) != 0) return block;
  if (!HasOrdinaryPages(block)) return memset(block, 0, size_bytes);
  ZeroBlock(block, size_bytes);
  return block;
}

}  // namespace allomon::backend
