#include "runtime/internal/collect/mark_state.h"

#include <algorithm>
#include <utility>

#include "runtime/internal/object/ephemeron_pairs.h"
#include "runtime/internal/object/value_word.h"
#include "runtime/internal/space/young_range.h"

namespace allomon::gc::internal {

void MarkState::NoteYoungSlot(Object*& slot) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  if (!TryPush(young_slots, &slot)) keeps_tenure = true;
}

bool MarkState::AddHeldSlots(Object* object) {
  bool has_room = true;
  const auto add = [&](Slot& slot) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
    has_room = has_room && TryPush(held_slots_, slot);
  };
  const TypeInfo& type = TypeOf(HeaderOf(object));
  ForEachSlot(type, object, add);
  // An ephemeron that is young now keeps both: nobody looks at it when the marking ends.
  if (type.kind == Kind::kEphemeron) {
    add(EphemeronOf(object).pair.key);
    add(EphemeronOf(object).pair.value);
  }
  return has_room;
}

// The barrier does not note stores into young objects, so what those that stay refer to is noted
// now.
bool MarkState::HoldStays(YoungSpace& young) {
  held_.clear();
  held_slots_.clear();
  reached_.clear();
  n_followed_ = 0;
  bool has_room = true;
  young.ForEachStay([&](Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
    const size_t first = held_slots_.size();
    has_room = has_room && AddHeldSlots(object) &&
               TryPush(held_, {object, first, held_slots_.size() - first, false});
  });
  return has_room && TryReserve(reached_, held_.size());
}

const MarkState::Held* MarkState::FindHeld(const Object* object) const
    ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // as its callers
  const auto found =
      std::lower_bound(held_.begin(), held_.end(), object,
                       [](const Held& held, const Object* wanted) { return held.object < wanted; });
  return found != held_.end() && found->object == object ? &*found : nullptr;
}

bool MarkState::YoungLives(const Object* object) const {
  const Held* const held = FindHeld(object);
  return held == nullptr || held->reached;
}

void MarkState::ReachOne(Object* object) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  Held* const held = const_cast<Held*>(FindHeld(object));
  if (held == nullptr || std::exchange(held->reached, true)) return;
  ALLOMON_DCHECK_LT("inv.mark.held", reached_.size(), reached_.capacity());
  reached_.push_back(held);
}

void MarkState::LockForFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // held across functions
  wanted.fetch_add(1, std::memory_order_relaxed);
  mutex.lock();
}

void MarkState::UnlockAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  wanted.fetch_sub(1, std::memory_order_relaxed);
  mutex.unlock();
  let_go.NotifyAll();
}

// A thread that the child does not have may have wanted the mutex; the one that forks holds it.
void MarkState::ResetInForkedChild() {
  let_go.ResetInForkedChild();
  wanted.store(1, std::memory_order_relaxed);
}

}  // namespace allomon::gc::internal
