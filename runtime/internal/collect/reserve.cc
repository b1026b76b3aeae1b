// The memory of the old space that is guaranteed to collections.
#include <algorithm>

#include "runtime/internal/object/check.h"
#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Returns the bytes of the holes that a mutator may fill until the next collection.  In a heap that
// is marked in slices, minor collections must be short, too.  While such a marking is late, small
// nurseries let the program make few objects old between two slices.
size_t HeapCore::WantedBytes(const Mutator& mutator) {
  size_t wanted = mutator.nursery.wanted_bytes();
  const bool has_deep_stack = wanted > mutator.nursery.size_bytes();
  if (cycle.IsLate(grown_bytes)) {
    wanted = NurseryShare::Least(wanted);
  } else if (!has_deep_stack && MayMarkInSlices()) {
    wanted = share_.Part(wanted);
  }
  return std::min(mutator.nursery.hole_bytes(), wanted);
}

// Returns the most bytes that a collection may have to promote, including objects that stay now.
size_t HeapCore::NurseryBytes() {
  size_t bytes = young.stays_bytes();
  for (Mutator* m = world.first(); m != nullptr; m = m->next) bytes += WantedBytes(*m);
  return bytes;
}

bool HeapCore::LimitAllows(size_t bytes) {
  return options.limit_bytes == 0 || blocks.bytes() + large.bytes() + bytes <= options.limit_bytes;
}

// A running thread may read the chunks because they are added and freed only while the world is
// stopped.
Object* HeapCore::AllocateLarge(uint64_t words) {
  if (options.limit_bytes == 0) return large.Allocate(words, SIZE_MAX);
  const size_t chunk_bytes = std::min(blocks.bytes(), options.limit_bytes);
  return large.Allocate(words, options.limit_bytes - chunk_bytes);
}

char* HeapCore::TakeSpareBlock() {
  const MutexHolder hold(blocks_mutex_);
  return blocks.free_blocks() > reserve_blocks_ ? blocks.TakeFreeBlock() : nullptr;
}

char* HeapCore::TakeOldBlock(Mutator* mutator) {
  char* const block = TakeSpareBlock();
  if (block != nullptr) return block;
  while (!world.Stop(mutator)) {
  }
  {
    const MarkCycle::Hold hold(cycle);
    GrowTo(reserve_blocks_ + 1);
  }
  world.Resume();
  return TakeSpareBlock();
}

// The caller has stopped the world and holds the cycle's mutex.
bool HeapCore::GrowTo(size_t free_blocks) {
  while (blocks.free_blocks() < free_blocks) {
    if (cycle.is_active() && SweepNextChunk()) continue;
    if (!LimitAllows(kChunkBytes) || !blocks.AddChunk()) return false;
    const uint64_t bytes = blocks.bytes() + large.bytes();
    statistics.peak_old_space_bytes = std::max(statistics.peak_old_space_bytes, bytes);
    if (options.listener != nullptr) options.listener->OnGrowth(bytes);
  }
  return true;
}

size_t HeapCore::GrantedBytes() const {
  size_t bytes = 0;
  for (Mutator* m = world.first(); m != nullptr; m = m->next) bytes += m->nursery.granted_bytes();
  return bytes;
}

// inv.reserve: all objects that the nurseries may hold can be promoted.  If the reserve is too
// small, each nursery gets its share of it.
void HeapCore::GrantNurseries() {
  const size_t stays = young.stays_bytes();
  const size_t wanted = NurseryBytes() - stays;
  size_t can = wanted;
  while (can > 0 && BlockSpace::BlocksFor(can + stays) > blocks.free_blocks()) can -= can / 8 + 1;
  // If they cannot be promoted, the objects that stay get tenure until a major collection.
  if (BlockSpace::BlocksFor(can + stays) > blocks.free_blocks()) {
    young.ForEachStay([](Object* object) { HeaderOf(object) |= kStaysBit | kTenuredBit; });
  }
  for (Mutator* m = world.first(); m != nullptr; m = m->next) {
    const size_t whole = WantedBytes(*m);
    size_t granted = whole;
    if (can != wanted) {
      granted = static_cast<size_t>(static_cast<unsigned __int128>(whole) * can / wanted);
    }
    granted = std::max(granted / kWordBytes * kWordBytes, m->used_bytes());
    // A smaller grant is not worth a collection each time.
    m->nursery.Grant(granted < 4 * kMaxYoungBytes ? m->used_bytes() : granted);
  }
  reserve_blocks_ = BlockSpace::BlocksFor(GrantedBytes() + stays);
  ALLOMON_DCHECK("inv.reserve", GrantedFits());
}

// For debug builds.
bool HeapCore::GrantedFits() const {
  return GrantedBytes() == 0 || reserve_blocks_ <= blocks.free_blocks();
}

bool HeapCore::GrowReserve() { return GrowTo(BlockSpace::BlocksFor(NurseryBytes())); }

// The present contents of the nurseries are granted whatever the share.  So a reserve that is too
// small can be shared out only when the nurseries are empty.
void HeapCore::MakeReserve() {
  bool has_room = false;
  {
    const MarkCycle::Hold hold(cycle);
    has_room = GrowReserve();
  }
  if (has_room) {
    GrantNurseries();
  } else {
    RunCollection(CollectionKind::kMinor);
  }
}

}  // namespace allomon::gc::internal
