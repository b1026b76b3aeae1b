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
    // The helper sweeps beside a stopped world, and adds to the free blocks that both count.
    const MarkState::Hold hold(heap.cycle);
    has_room = GrowReserve(heap);
    if (has_room) GrantNurseries(heap);
  }
  if (!has_room) RunCollection(heap, CollectionKind::kMinor);
}

}  // namespace

// The nurseries that were left are emptied, by a thread that is not attached any more.
static void CollectLeft(HeapCore& heap) {
  heap.world.StopSurely(nullptr);
  RunCollection(heap, CollectionKind::kMinor);
  ResumeAndRelease(heap);
}

static Mutator* NewMutator(HeapCore& heap, const StackRange& own_stack) {
  Mutator* const mutator = new Mutator;
  if (mutator == nullptr) return nullptr;
  if (mutator->Init(&heap, &heap.coroutines, own_stack, heap.nursery_bytes,
                    heap.options.stress_every != 0)) {
    return mutator;
  }
  delete mutator;
  return nullptr;
}

Mutator* Attach(HeapCore& heap) {
  const StackRange own_stack = OwnStack();
  if (Mutator* const left = heap.world.TakeOver(own_stack)) {
    PublishLimit(*left);
    return left;
  }
  Mutator* mutator = NewMutator(heap, own_stack);
  if (mutator == nullptr) {
    CollectLeft(heap);  // nurseries that were left may have taken the addresses
    mutator = NewMutator(heap, own_stack);
    if (mutator == nullptr) return nullptr;
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
    heap.world.Leave(mutator);
    CollectLeft(heap);
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
  Sync(*mutator);
  const bool is_due = heap.world.Leave(mutator);
  if (is_due || heap.options.stress_every != 0) CollectLeft(heap);
}

}  // namespace allomon::gc::internal
