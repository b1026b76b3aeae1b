// Collections.  The caller has stopped the world, and no other thread collects.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_H_

#include <functional>

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Moves the reachable young objects into the old space, except those that a word of a native stack
// may refer to.  The holes between these become the nurseries.  Never fails (inv.reserve).
void CollectMinor(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

// Marks the reachable objects, and makes holes of the others.  Called after CollectMinor().  If
// there is no memory to note the objects that stacks refer to, changes nothing and returns false.
bool MarkAndSweep(HeapCore& heap, size_t keep_free_blocks)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

// Walks the heap from its roots and aborts on the first broken invariant.
void VerifyHeap(HeapCore& heap) ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);
// Walks the heap when a marking in slices ends, before anything is swept, and aborts if a reachable
// object is not marked.
void VerifyMarked(HeapCore& heap, const std::function<bool(Object*)>& is_marked)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex);

// Calls visit(Slot&) for every strong root except the native stacks.
template <typename Visit>
void ForEachStrongRoot(HeapCore& heap, Visit visit)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    mutator->ForEachRoot(visit);
  }
  for (GlobalNode* node = heap.globals.next; node != &heap.globals; node = node->next) {
    visit(node->object);
  }
  for (RootBlock* block = heap.root_blocks.next; block != &heap.root_blocks; block = block->next) {
    for (size_t i = 0; i < block->count; ++i) visit(block->slots()[i]);
  }
  WeakTable<Finalizer>& finalizers = heap.finalizers;
  for (size_t i = finalizers.due_head; i < finalizers.due.size(); ++i) {
    visit(finalizers.due[i].object);
  }
}

// inv.remembered: `slot`, of an object of the old space, points to a young object that stays.  If
// that object has tenure, it is old itself and nothing is noted.  If there is no memory to note the
// slot, the object gets tenure.
inline void Remember(HeapCore& heap, Slot& slot) {
  constexpr uintptr_t kBoth = kStaysBit | kTenuredBit;
  if ((HeaderOf(slot) & kBoth) == kBoth) {
    if (heap.cycle.is_marking()) heap.cycle.NoteYoungSlot(slot);
    return;
  }
  Vector<Slot*>& slots = heap.remembered;
  if (slots.size() == slots.capacity() && !TryReserve(slots, slots.size() * 2 + 64)) {
    HeaderOf(slot) |= kBoth;
    if (heap.cycle.is_marking()) heap.cycle.NoteYoungSlot(slot);
    return;
  }
  slots.push_back(&slot);
}

// An ephemeron's words.
struct EphemeronSlots {
  Slot key;
  Slot value;
  Object* next_marked;  // the collector's own, while it marks

  // Clears the ephemeron because its key is dead.  It may still be in the list of a marking in
  // progress.
  void Clear() { key = value = nullptr; }
};
inline EphemeronSlots& EphemeronOf(Object* object) {
  return *reinterpret_cast<EphemeronSlots*>(object);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_H_
