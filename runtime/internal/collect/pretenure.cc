// Allocation of objects at sites.
#include <new>

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/mutator.h"
#include "runtime/internal/collect/pending_block.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {

bool Mutator::FindOldRoom(size_t bytes) {
  if (old.Fits(bytes)) return true;
  Sync();
  old.Close();
  char* const block = heap->TakeOldBlock(this);
  if (block != nullptr) old.Open(block, kBlockBytes);
  return block != nullptr;
}

char* Mutator::AllocateOldSlow(size_t bytes, uintptr_t header, FrameState caller) {
  const LimitPublisher publisher(*this);
  Sync();
  Attend();
  if (!old.Fits(bytes) && heap->WantsMajor(kBlockBytes)) {
    heap->CollectForGrowth(*this);
  }
  heap->RunDue(this);
  if (!FindOldRoom(bytes)) return nullptr;
  const Request request = {bytes / kWordBytes, bytes - kWordBytes, AllocationSource::kNormal, false,
                           TypeOf(header)};
  PendingBlock pending(*this, Sample(request, caller));
  // Callbacks may have collected, which closes the window, or may have filled it.
  if (!FindOldRoom(bytes)) throw std::bad_alloc();
  Sync();
  // No user code runs between this line and the caller's write of the header.
  char* const start = old.Take(bytes);
  pending.Become(reinterpret_cast<Object*>(start + kWordBytes), false);
  old.Sync();  // Sample() has already judged these words
  heap->CountBornOld(bytes / kWordBytes, bytes);
  survival.PassOld(bytes / kWordBytes);
  if (allomon::internal::managed_profiler.load(std::memory_order_relaxed) != nullptr) {
    clock.Add(bytes);
  }
  return start;
}

void Mutator::MeetSiteSlow(SiteState& site) {
  if (!heap->options.pretenure) return;
  if (!survival.on()) survival.Begin(heap->TakeSeed());
  SiteTable::Get().Meet(site);
}

char* Mutator::AllocateYoungAtSlow(SiteState& site, bool follow, size_t bytes, uintptr_t header,
                                   FrameState caller) {
  char* start = follow ? nullptr : TryNextRun(bytes);
  if (start != nullptr) return start;
  start = AllocateYoungSlow(bytes, header, AllocationSource::kNormal, caller);
  if (follow || follow_next) {
    survival.FollowYoung(site, reinterpret_cast<Object*>(start + kWordBytes));
  }
  return start;
}

Placed Mutator::AllocateOldAtSlow(SiteState& site, Survival::Turn turn, size_t bytes, uintptr_t header,
                                  FrameState caller) {
  const bool young = turn == Survival::Turn::kYoung;
  char* const start = young ? nullptr : AllocateOldSlow(bytes, header, caller);
  if (start == nullptr) return {AllocateYoungAtSlow(site, young, bytes, header, caller), false};
  if (turn == Survival::Turn::kOld) {
    survival.FollowOld(site, reinterpret_cast<Object*>(start + kWordBytes));
  }
  return {start, true};
}

Placed Mutator::AllocateAtSlow(SiteState& site, size_t bytes, uintptr_t header, FrameState caller) {
  if (__builtin_expect(!survival.on() || !SiteTable::Knows(site), 0)) MeetSiteSlow(site);
  if (!site.allocates_old() || !survival.on()) {
    return {AllocateYoungAtSlow(site, false, bytes, header, caller), false};
  }
  return AllocateOldAtSlow(site, survival.TurnOfOld(bytes / kWordBytes), bytes, header, caller);
}

Placed AllocateAtSlow(SiteState& site, size_t bytes, uintptr_t header, FrameState caller) {
  return CurrentMutator().AllocateAtSlow(site, bytes, header, caller);
}

}  // namespace allomon::gc::internal
