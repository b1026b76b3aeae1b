// The slow paths of root slots and remembered slots.
#include <algorithm>
#include <utility>

#include "runtime/internal/check.h"
#include "runtime/internal/mutator.h"

namespace allomon::gc::internal {

__thread Window t_window;
Slot no_slot;

namespace {

constexpr size_t kRootStep = 4096;

// A dead slot on the free list points to the next one.  Its bit 0 is set, but it differs from the
// DeadSlot() that popping skips.
Slot EncodeFree(Slot* next) {
  return reinterpret_cast<Slot>(reinterpret_cast<uintptr_t>(next) | 3);
}
Slot* DecodeFree(Slot slot) {
  return reinterpret_cast<Slot*>(reinterpret_cast<uintptr_t>(slot) & ~uintptr_t{3});
}

// Adds the dead slots of the whole stack to the free list.
size_t CollectDeadRoots(Mutator& mutator) {
  size_t found = 0;
  for (Slot* slot = mutator.roots; slot != t_window.root_top; ++slot) {
    if (*slot != DeadSlot()) continue;
    *slot = EncodeFree(mutator.free_roots);
    mutator.free_roots = slot;
    ++found;
  }
  return found;
}

}  // namespace

// The stack is full: takes one of the dead slots, or lets the stack grow.
Slot* TakeRootSlow(Object* value) noexcept {
  Mutator& mutator = CurrentMutator();
  if (mutator.free_roots == nullptr) {
    const size_t used = static_cast<size_t>(t_window.root_top - mutator.roots);
    if (CollectDeadRoots(mutator) < used / 2) {
      ALLOMON_GC_CHECK(used + kRootStep < kMaxRoots, "more than 8 million Locals on one thread");
      t_window.root_limit += std::max(kRootStep, used / 2) < kMaxRoots - used - 1
                                 ? std::max(kRootStep, used / 2)
                                 : kMaxRoots - used - 1;
      return TakeRoot(value);
    }
  }
  Slot* slot = mutator.free_roots;
  mutator.free_roots = DecodeFree(*slot);
  *slot = value;
  return slot;
}

void PopDeadRoots() noexcept {
  Slot* top = t_window.root_top;
  while (*SlotBelow(top) == DeadSlot()) top = SlotBelow(top);
  t_window.root_top = top;
}

void ReleaseRootSlow(Slot* slot) noexcept {
  ALLOMON_GC_CHECK(slot == &no_slot,
                   "rule.local.thread: a Local belongs to the thread that made it");
}

Slot* MergeRootsSlow(Slot* a, Slot* b) noexcept {
  if (a == &no_slot) std::swap(a, b);
  if (a == &no_slot) return TakeRoot(nullptr);
  if (b == &no_slot || a == b) return a;  // make<T>(std::move(x), std::move(x))
  ReleaseRoot(std::max(a, b));
  return std::min(a, b);
}

void CutBackRoots(Slot* top) {
  if (t_window.mutator == nullptr) return;
  t_window.mutator->TrimRoots();  // while all links of the free list are intact
  if (t_window.root_top > top) t_window.root_top = top;
  PopDeadRoots();  // Locals below the mark may have died before those above it
}

void Mutator::TrimRoots() {
  // Takes the slots off the free list, so that they can be popped.
  for (Slot* slot = free_roots; slot != nullptr;) {
    Slot* next_free = DecodeFree(*slot);
    *slot = DeadSlot();
    slot = next_free;
  }
  free_roots = nullptr;
  while (*SlotBelow(window->root_top) == DeadSlot()) --window->root_top;
}

namespace {

// Forgets logged slots that no longer point to young objects, and duplicates.
void CompactLog(Mutator& mutator) {
  Slot** end =
      std::remove_if(mutator.log, t_window.log_top, [](Slot* slot) { return !IsYoung(*slot); });
  std::sort(mutator.log, end);
  t_window.log_top = std::unique(mutator.log, end);
  ALLOMON_DCHECK("inv.log", std::adjacent_find(mutator.log, t_window.log_top) == t_window.log_top);
}

}  // namespace

// The barrier is no safepoint, so a full log cannot be emptied by a collection.  It is compacted,
// and grows.
void LogSlotSlow(Slot* slot) noexcept {
  Mutator& mutator = CurrentMutator();
  CompactLog(mutator);
  const size_t used = static_cast<size_t>(t_window.log_top - mutator.log);
  if (used * 2 >= mutator.log_capacity) {
    const size_t capacity = std::max<size_t>(4096, mutator.log_capacity * 2);
    void* log = backend::Realloc(mutator.log, capacity * sizeof(Slot*));
    ALLOMON_GC_CHECK(log != nullptr, "out of memory for remembered slots");
    mutator.log = static_cast<Slot**>(log);
    mutator.log_capacity = capacity;
    t_window.log_top = mutator.log + used;
    t_window.log_limit = mutator.log + capacity;
  }
  *t_window.log_top++ = slot;
}

// Without memory the slot is not noted, and so it is not checked.
void NoteForCheck(Slot* slot) noexcept {
  Vector<Slot*>& noted = CurrentMutator().noted_for_check;
  if (!noted.empty() && noted.back() == slot) return;
  if (noted.size() == noted.capacity() && !TryReserve(noted, noted.size() * 2 + 64)) return;
  noted.push_back(slot);
}

}  // namespace allomon::gc::internal
