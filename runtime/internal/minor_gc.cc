#include <algorithm>
#include <cstring>

#include "runtime/internal/check.h"
#include "runtime/internal/collector.h"

namespace allomon::gc::internal {
namespace {

// Beyond this many words a call of memcpy pays.
constexpr uint64_t kFewWords = 12;

// No object has fewer than two words.
inline void CopyWords(Word* to, const Word* from, uint64_t words) {
  if (__builtin_expect(words > kFewWords, 0)) {
    memcpy(to, from, words * kWordBytes);
    return;
  }
  to[0] = from[0];
  to[1] = from[1];
  for (uint64_t i = 2; i < words; ++i) to[i] = from[i];
}

// Moves young objects.  Copies whose references are still to be visited are linked through the
// first word of the dead original, so the stack needs no memory and cannot overflow.  The order is
// last in, first out, which keeps parents and children close.
class Evacuation {
 public:
  explicit Evacuation(BlockSpace& blocks) : blocks_(blocks) {}

  void Visit(Slot& slot) {
    Object* object = slot;
    if (!IsYoung(object)) return;
    const uintptr_t header = HeaderOf(object);
    slot = (header & kForwardedBit) != 0 ? ForwardedTo(header) : Move(object, TypeOf(header));
  }

  void Drain() {
    while (pending_ != nullptr) {
      Object* original = pending_;
      pending_ = *SlotsOf(original);
      Object* copy = ForwardedTo(HeaderOf(original));
      ForEachSlot(TypeOf(HeaderOf(copy)), copy, [this](Slot& slot) { Visit(slot); });
    }
  }

  uint64_t moved_words() const { return moved_words_; }

  static Object* ForwardedTo(uintptr_t header) {
    return reinterpret_cast<Object*>(header & ~kHeaderBits);
  }

 private:
  Object* Move(Object* object, const TypeInfo& type) {
    const uint64_t words = SizeWords(type, object) + 1;
    Word* to = reinterpret_cast<Word*>(blocks_.Allocate(words * kWordBytes));
    const Word* from = &HeaderOf(object);
    CopyWords(to, from, words);
    moved_words_ += words;
    Object* copy = reinterpret_cast<Object*>(to + 1);
    HeaderOf(object) = reinterpret_cast<uintptr_t>(copy) | kForwardedBit;
    if (HasReferences(type)) {
      *SlotsOf(object) = pending_;
      pending_ = object;
    }
    return copy;
  }

  BlockSpace& blocks_;
  Object* pending_ = nullptr;
  uint64_t moved_words_ = 0;
};

bool IsForwarded(Object* object) { return (HeaderOf(object) & kForwardedBit) != 0; }

// The present address of the object; nullptr if it is young and has not been moved so far.
Object* Survivor(Object* object) {
  if (!IsYoung(object)) return object;
  return IsForwarded(object) ? Evacuation::ForwardedTo(HeaderOf(object)) : nullptr;
}

// Adds to *left the noted slots that point to young objects and are not in the log in the order in
// which they were noted.  Mostly the log has that order, and no slot is added.  Returns false
// without memory.
[[maybe_unused]] bool AddThoseNotInTurn(const Mutator& mutator, Vector<Slot*>* left) {
  Slot** logged = mutator.log;
  for (Slot* slot : mutator.noted_for_check) {
    if (logged != mutator.window->log_top && *logged == slot) {
      ++logged;
    } else if (IsYoung(*slot)) {
      if (left->size() == left->capacity() && !TryReserve(*left, left->size() * 2 + 64))
        return false;
      left->push_back(slot);
    }
  }
  return true;
}

// inv.remembered, for debug builds: each slot of an old object that points to a young one, as the
// barrier's callers have noted it, is in some log.  True if there is no memory for the check.
[[maybe_unused]] bool LogsAreComplete(HeapCore& heap) {
  Vector<Slot*> left;
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    if (!AddThoseNotInTurn(*mutator, &left)) return true;
  }
  if (left.empty()) return true;
  Vector<Slot*> logged;
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    const size_t slots = static_cast<size_t>(mutator->window->log_top - mutator->log);
    if (!TryReserve(logged, logged.size() + slots)) return true;
    logged.insert(logged.end(), mutator->log, mutator->window->log_top);
  }
  std::sort(logged.begin(), logged.end());
  for (Slot* slot : left) {
    if (!std::binary_search(logged.begin(), logged.end(), slot)) return false;
  }
  return true;
}

void VisitRemembered(HeapCore& heap, Evacuation& evacuation) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Slot** entry = mutator->log; entry != mutator->window->log_top; ++entry) {
      evacuation.Visit(**entry);
    }
  }
}

// If the key of an ephemeron has survived, its value survives.  Returns whether the value had to be
// moved.
bool VisitEphemeron(Object* original, Evacuation& evacuation) {
  Object* ephemeron = Survivor(original);
  if (ephemeron == nullptr) return false;
  EphemeronSlots& slots = EphemeronOf(ephemeron);
  Object* key = Survivor(slots.key);
  if (key == nullptr) return false;
  slots.key = key;
  const bool moves = IsYoung(slots.value);
  evacuation.Visit(slots.value);
  evacuation.Drain();
  return moves;
}

template <typename Visit>
void ForEachRecentEphemeron(HeapCore& heap, Visit visit) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Object* ephemeron : mutator->weaks) visit(ephemeron);
  }
}

// Repeats until nothing changes, because a value may keep other keys alive.
void VisitEphemerons(HeapCore& heap, Evacuation& evacuation) {
  for (bool moved = true; moved;) {
    moved = false;
    ForEachRecentEphemeron(heap, [&](Object* e) { moved |= VisitEphemeron(e, evacuation); });
  }
  ForEachRecentEphemeron(heap, [](Object* original) {
    Object* ephemeron = Survivor(original);
    if (ephemeron != nullptr && IsYoung(EphemeronOf(ephemeron).key)) EphemeronOf(ephemeron) = {};
  });
}

// Young custom blocks that were not moved are dead.
void FilterCustoms(HeapCore& heap) ALLOMON_REQUIRES(heap.tables_mutex) {
  heap.due_actions += heap.customs.MoveDead(heap.customs.first_young, [](CustomBlockEntry& entry) {
    entry.object = Survivor(entry.object);
    return entry.object == nullptr;
  });
}

// An object with a finalizer dies old: it is kept until a major collection.
void VisitFinalizable(HeapCore& heap, Evacuation& evacuation) ALLOMON_REQUIRES(heap.tables_mutex) {
  WeakTable<Finalizer>& table = heap.finalizers;
  for (size_t i = table.first_young; i < table.entries.size(); ++i) {
    evacuation.Visit(table.entries[i].object);
  }
  evacuation.Drain();
  table.first_young = table.entries.size();
}

void VisitRoots(HeapCore& heap, Evacuation& evacuation)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  // The stack is drained after each root, so that objects of one root are moved together.
  ForEachStrongRoot(heap, [&evacuation](Slot& slot) {
    evacuation.Visit(slot);
    evacuation.Drain();
  });
  VisitRemembered(heap, evacuation);
  evacuation.Drain();
  VisitFinalizable(heap, evacuation);
}

void CountMinor(HeapCore& heap, uint64_t young_words, uint64_t moved_words) {
  ++heap.statistics.minor_collections;
  heap.statistics.promoted_words += moved_words;
  heap.statistics.freed_young_words += young_words - moved_words;
  heap.grown_bytes.fetch_add(moved_words * kWordBytes, std::memory_order_relaxed);
  if (heap.options.listener != nullptr) heap.options.listener->OnPromotion(moved_words);
}

// Counts the contents of the nurseries before any object moves.
uint64_t PrepareNurseries(HeapCore& heap) {
  uint64_t young_words = 0;
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    mutator->Sync();
    mutator->TrimRoots();
    young_words += mutator->used_bytes() / kWordBytes;
  }
  return young_words;
}

void EmptyNurseries(HeapCore& heap) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    mutator->weaks.clear();
    mutator->noted_for_check.clear();
    mutator->window->log_top = mutator->log;
    mutator->EmptyNursery(mutator->granted_bytes);
  }
}

// inv.nursery, for debug builds: checks the roots.  The verifier checks all references.
[[maybe_unused]] bool NothingIsYoung(HeapCore& heap)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  bool young = false;
  ForEachStrongRoot(heap, [&young](Slot& slot) { young |= IsYoung(slot); });
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    young |= mutator->used_bytes() != 0;
  }
  return !young;
}

}  // namespace

void CollectMinor(HeapCore& heap) {
  ALLOMON_DCHECK("inv.world", heap.world.IsStoppedByMe());
  ALLOMON_DCHECK("inv.remembered", LogsAreComplete(heap));
  const uint64_t young_words = PrepareNurseries(heap);
  Evacuation evacuation(heap.blocks);
  VisitRoots(heap, evacuation);
  VisitEphemerons(heap, evacuation);
  heap.samples.AfterMinor();
  FilterCustoms(heap);
  heap.identities.AfterMinor(Survivor);
  CountMinor(heap, young_words, evacuation.moved_words());
  EmptyNurseries(heap);
  ALLOMON_DCHECK("inv.nursery", NothingIsYoung(heap));
}

}  // namespace allomon::gc::internal
