// The objects that stay in the nursery while a collection in slices marks.
#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/mark_cycle.h"
#include "runtime/internal/collect/marker.h"

namespace allomon::gc::internal {

bool MarkCycle::AddHeldSlots(Object* object) {
  bool has_room = true;
  const auto add = [&](Slot& slot) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
    has_room = has_room && TryPush(held_slots_, slot);
  };
  const TypeInfo& type = TypeOf(HeaderOf(object));
  ForEachSlot(type, object, add);
  // A young ephemeron keeps both its key and its value: the end of the marking does not visit it.
  if (type.kind == Kind::kEphemeron) {
    add(EphemeronOf(object).key);
    add(EphemeronOf(object).value);
  }
  return has_room;
}

// Notes the references of the objects that stay now, because the barrier does not note stores into
// young objects.
bool MarkCycle::HoldStays() {
  held_.clear();
  held_slots_.clear();
  reached_.clear();
  n_followed_ = 0;
  bool has_room = true;
  heap_.young.ForEachStay([&](Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
    const size_t first = held_slots_.size();
    has_room = has_room && AddHeldSlots(object) &&
               TryPush(held_, {object, first, held_slots_.size() - first, false});
  });
  return has_room && TryReserve(reached_, held_.size());
}

const MarkCycle::Held* MarkCycle::FindHeld(const Object* object) const
    ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // as its callers
  const auto found =
      std::lower_bound(held_.begin(), held_.end(), object,
                       [](const Held& held, const Object* wanted) { return held.object < wanted; });
  return found != held_.end() && found->object == object ? &*found : nullptr;
}

bool MarkCycle::YoungLives(const Object* object) const {
  const Held* const held = FindHeld(object);
  return held == nullptr || held->reached;
}

void MarkCycle::ReachOne(Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  Held* const held = const_cast<Held*>(FindHeld(object));
  if (held == nullptr || std::exchange(held->reached, true)) return;
  ALLOMON_DCHECK_LT("inv.mark.held", reached_.size(), reached_.capacity());
  reached_.push_back(held);
}

// Loops instead of recursing, since the objects that stay may form a long list.
void MarkCycle::Reach(Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  ReachOne(object);
  while (n_followed_ < reached_.size()) {
    const Held& held = *reached_[n_followed_++];
    for (size_t i = held.first; i < held.first + held.count; ++i) {
      Object* const slot = held_slots_[i];
      if (IsYoung(slot)) {
        ReachOne(slot);
      } else {
        MarkRoot(slot);
      }
    }
  }
}

// If there is no memory to note the object, marks it at once, after the remaining marks are
// cleared.  Before the collection begins there are no marks to set, so it records the lack of room
// instead.
void MarkCycle::MarkRoot(Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  SliceMarker& marker = **marker_;
  if (marker.AddRoot(object)) return;
  if (phase() == Phase::kIdle) {
    lacks_room_ = true;
    return;
  }
  while (phase() == Phase::kClear && heap_.blocks.ClearNext()) {
  }
  if (phase() == Phase::kClear) EnterPhase(Phase::kMark);
  marker.Visit(object);
}

// The dead objects become holes of the nursery, as after a collection in one pause.
void MarkCycle::DropDeadStays() {
  const size_t old_bytes = heap_.young.old_bytes();
  const size_t young_bytes = heap_.young.young_bytes();
  const auto lives = [this](const YoungSlice&, Object* object) { return YoungLives(object); };
  for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) m->ReopenNursery(lives);
  heap_.young.RebuildAdopted(lives);
  heap_.statistics.freed_old_words += (old_bytes - heap_.young.old_bytes()) / kWordBytes;
  heap_.statistics.freed_young_words += (young_bytes - heap_.young.young_bytes()) / kWordBytes;
}

}  // namespace allomon::gc::internal
