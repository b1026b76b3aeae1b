// The spaces of a heap, and the notes of a marking about them.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_SPACES_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_SPACES_H_

#include "runtime/internal/collect/mark_state.h"
#include "runtime/internal/object/object.h"
#include "runtime/internal/space/block_space.h"
#include "runtime/internal/space/large_space.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/space/young_space.h"

namespace allomon::gc::internal {

struct Spaces {
  YoungSpace young;
  // inv.remembered: slots of old objects that point to young ones which stay, without tenure.
  Vector<Slot*> remembered;
  BlockSpace blocks;
  LargeSpace large;
  MarkState cycle;
};

// inv.remembered: `slot`, of an object of the old space, points to a young object that stays.  One
// with tenure is old itself; one without memory for the slot gets tenure.
inline void Remember(Spaces& spaces, Slot& slot) {
  constexpr uintptr_t kBoth = kStaysBit | kTenuredBit;
  if ((HeaderOf(slot) & kBoth) == kBoth) {
    if (spaces.cycle.is_marking()) spaces.cycle.NoteYoungSlot(slot);
    return;
  }
  Vector<Slot*>& slots = spaces.remembered;
  if (slots.size() == slots.capacity() && !TryReserve(slots, slots.size() * 2 + 64)) {
    HeaderOf(slot) |= kBoth;
    if (spaces.cycle.is_marking()) spaces.cycle.NoteYoungSlot(slot);
    return;
  }
  slots.push_back(&slot);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_SPACES_H_
