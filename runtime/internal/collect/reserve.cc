#include "runtime/internal/collect/reserve.h"

#include <algorithm>

#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {
namespace {

// Returns the bytes of the holes that a mutator may fill until the next collection.  In a heap that
// is marked in slices, minor collections must be short, too.  While such a marking is urgent or
// late, small nurseries let the program make few objects old between two slices.
size_t WantedBytes(HeapCore& heap, const Mutator& mutator) {
  if (!mutator.nursery.has_joined()) return 0;  // its thread is about to give up
  size_t wanted = mutator.nursery.wanted_bytes();
  const bool has_deep_stack = wanted > mutator.nursery.size_bytes();
  if (heap.cycle.IsLate(heap.grown_bytes)) {
    wanted = NurseryShare::Least(wanted);
  } else if (!has_deep_stack && heap.MayMarkInSlices()) {
    wanted = heap.share.Part(wanted, heap.cycle.IsUrgent(heap.grown_bytes));
  }
  return std::min(mutator.nursery.hole_bytes(), wanted);
}

// Returns the most bytes that a collection may have to promote, including objects that stay now.
size_t NurseryBytes(HeapCore& heap) {
  size_t bytes = heap.young.stays_bytes();
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) bytes += WantedBytes(heap, *m);
  return bytes;
}

char* TakeSpareBlock(HeapCore& heap) {
  const MutexHolder hold(heap.blocks_mutex);
  return heap.blocks.free_blocks() > heap.reserve_blocks ? heap.blocks.TakeFreeBlock() : nullptr;
}

// The caller has stopped the world and holds the cycle's mutex.
bool GrowTo(HeapCore& heap, size_t free_blocks) {
  while (heap.blocks.free_blocks() < free_blocks) {
    if (heap.cycle.is_active() && heap.SweepNextChunk()) continue;
    if (!heap.LimitAllows(kChunkBytes) || !heap.blocks.AddChunk()) return false;
    const uint64_t bytes = heap.blocks.bytes() + heap.large.bytes();
    heap.statistics.peak_old_space_bytes = std::max(heap.statistics.peak_old_space_bytes, bytes);
    if (heap.options.listener != nullptr) heap.options.listener->OnGrowth(bytes);
  }
  return true;
}

size_t GrantedBytes(HeapCore& heap) {
  size_t bytes = 0;
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next)
    bytes += m->nursery.granted_bytes();
  return bytes;
}

// For debug builds.
bool GrantedFits(HeapCore& heap) {
  return GrantedBytes(heap) == 0 || heap.reserve_blocks <= heap.blocks.free_blocks();
}

}  // namespace

size_t BlocksToKeep(HeapCore& heap) {
  return BlockSpace::BlocksFor(NurseryBytes(heap)) + heap.major_threshold_bytes / kBlockBytes;
}

char* TakeOldBlock(HeapCore& heap, Mutator* mutator) {
  char* const block = TakeSpareBlock(heap);
  if (block != nullptr) return block;
  heap.world.StopSurely(mutator);
  {
    const MarkState::Hold hold(heap.cycle);
    GrowTo(heap, heap.reserve_blocks + 1);
  }
  heap.world.Resume();
  return TakeSpareBlock(heap);
}

bool GrowReserve(HeapCore& heap) {
  const size_t bytes = NurseryBytes(heap);
  // If there is no room for several collectors, one collects.
  if (heap.team.n_threads() != 0 && heap.WantsCollectors() &&
      GrowTo(heap, BlockSpace::BlocksFor(bytes, heap.n_collectors))) {
    return true;
  }
  return GrowTo(heap, BlockSpace::BlocksFor(bytes));
}

// inv.reserve: the objects that the nurseries may hold can be promoted.  If the reserve is short,
// each nursery gets its share of it.
void GrantNurseries(HeapCore& heap) {
  const size_t stays = heap.young.stays_bytes();
  const size_t wanted = NurseryBytes(heap) - stays;
  size_t can = wanted;
  while (can > 0 && BlockSpace::BlocksFor(can + stays) > heap.blocks.free_blocks())
    can -= can / 8 + 1;
  // Without room for them, the objects that stay keep their places until a major collection.
  if (BlockSpace::BlocksFor(can + stays) > heap.blocks.free_blocks()) {
    heap.young.ForEachStay([](Object* object) { HeaderOf(object) |= kStaysBit | kTenuredBit; });
  }
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) {
    const size_t whole = WantedBytes(heap, *m);
    size_t granted = whole;
    if (can != wanted) {
      granted = static_cast<size_t>(static_cast<unsigned __int128>(whole) * can / wanted);
    }
    granted = std::max(granted / kWordBytes * kWordBytes, m->used_bytes());
    // A smaller grant is not worth a collection each time.
    m->nursery.Grant(granted < 4 * kMaxYoungBytes ? m->used_bytes() : granted);
  }
  heap.reserve_blocks = BlockSpace::BlocksFor(GrantedBytes(heap) + stays);
  ALLOMON_DCHECK("inv.reserve", GrantedFits(heap));
}

}  // namespace allomon::gc::internal
