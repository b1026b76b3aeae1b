#include "runtime/internal/collect/attach.h"

#include "runtime/internal/collect/collection.h"
#include "runtime/internal/collect/limit.h"
#include "runtime/internal/collect/reserve.h"
#include "runtime/internal/object/check.h"

namespace allomon::gc::internal {
namespace {

// The present contents of the nurseries are granted whatever the share, so a reserve that is short
// can be shared out only when the nurseries are empty.
void MakeReserve(HeapCore& heap) {
  bool has_room = false;
  {
    const MarkState::Hold hold(heap.cycle);
    has_room = GrowReserve(heap);
  }
  if (has_room) {
    GrantNurseries(heap);
  } else {
    RunCollection(heap, CollectionKind::kMinor);
  }
}

}  // namespace

Mutator* Attach(HeapCore& heap) {
  Mutator* mutator = new Mutator;
  if (!mutator->Init(&heap, &heap.coroutines, heap.nursery_bytes, heap.options.stress_every != 0)) {
    delete mutator;
    return nullptr;
  }
  heap.world.Add(mutator);
  // With the world stopped, the reserve for the mutator's nursery is made.
  heap.world.StopSurely(mutator);
  Stand(*mutator);
  mutator->window->marking = heap.cycle.is_marking();
  const bool joined = mutator->nursery.Join(heap.young);
  if (joined) MakeReserve(heap);
  const bool granted = joined && mutator->nursery.granted_bytes() > kMaxYoungBytes;
  const bool wants_team = heap.WantsCollectors();
  ResumeAndRelease(heap);
  if (wants_team) heap.StartCollectors();
  if (!granted) {
    Detach(heap, mutator);
    return nullptr;
  }
  PublishLimit(*mutator);
  return mutator;
}

void Detach(HeapCore& heap, Mutator* mutator) {
  ALLOMON_GC_CHECK(mutator->window->first_root == nullptr,
                   "rule.detach: a thread detaches while Roots of it live");
  ALLOMON_GC_CHECK(mutator->ranges.empty(),
                   "rule.detach: a thread detaches while a ValueStack of it lives");
  heap.world.StopSurely(mutator);
  // What other stacks refer to stays where it is, in slices that the heap takes over.
  mutator->stack.here.Clear();
  RunCollection(heap, CollectionKind::kMinor);
  LeaveHeap(heap, *mutator);
  ResumeAndRelease(heap);
  heap.world.Remove(mutator);
  delete mutator;
}

// What stays of the thread's objects is the heap's, with the ephemerons that refer to such.
void LeaveHeap(HeapCore& heap, Mutator& mutator) {
  mutator.LeaveNursery(heap.young);
  mutator.CloseOldWindow();
  heap.samples.Leave(mutator.new_samples);
  const size_t ephemerons = heap.left_weaks.size() + mutator.weaks.size();
  ALLOMON_GC_CHECK(TryReserve(heap.left_weaks, ephemerons), "out of memory for ephemerons");
  heap.left_weaks.insert(heap.left_weaks.end(), mutator.weaks.begin(), mutator.weaks.end());
  mutator.weaks.clear();
}

}  // namespace allomon::gc::internal
