#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/limit.h"
#include "runtime/internal/collect/roots.h"
#include "runtime/internal/collect/stack_roots.h"
#include "runtime/internal/object/check.h"
#include "runtime/internal/tables/waiting_ephemerons.h"

namespace allomon::gc::internal {
namespace {

// Above this many words a call of memcpy is faster.
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

// Moves young objects.  Copies whose references are not yet visited are linked through the first
// word of the dead original, so the stack needs no memory and cannot overflow.  The order is last
// in, first out, which keeps parents and children close.
class Evacuation {
 public:
  explicit Evacuation(HeapCore& heap) : heap_(heap), blocks_(heap.blocks) {}

  // Visits a root, or a slot of an object that stays.
  void Visit(Slot& slot) {
    if (IsYoung(slot)) VisitYoung(slot);
  }
  // A slot of an object of the old space.
  void VisitOld(Slot& slot) {
    if (IsYoung(slot) && VisitYoung(slot)) Remember(heap_, slot);
  }

  void Drain() {
    while (pending_ != nullptr) {
      Object* original = pending_;
      pending_ = *SlotsOf(original);
      Object* copy = ForwardedTo(HeaderOf(original));
      ForEachSlot(TypeOf(HeaderOf(copy)), copy, [this](Slot& slot) { VisitOld(slot); });
    }
  }

  // Begins a pass over ephemerons: none waits.  Most collections have no ephemeron, and no pass.
  void BeginEphemerons() { waiting_.emplace(); }
  // If the key of an ephemeron has survived, its value survives.  If not, or if the ephemeron has
  // not, it waits for that.  Returns whether a value had to be moved.
  bool VisitEphemeron(Object* original) {
    bool moves = VisitOneEphemeron(original);
    Vector<Object*>& ready = waiting_->ready;
    while (!ready.empty()) {
      Object* const next = ready.back();
      ready.pop_back();
      moves |= VisitOneEphemeron(next);
    }
    return moves;
  }

  uint64_t moved_words() const { return moved_words_; }

  static Object* ForwardedTo(uintptr_t header) {
    return reinterpret_cast<Object*>(header & ~kHeaderBits);
  }

 private:
  // Whether the object stays.
  __attribute__((always_inline)) bool VisitYoung(Slot& slot) {
    Object* const object = slot;
    const uintptr_t header = HeaderOf(object);
    if (__builtin_expect((header & (kForwardedBit | kStaysBit | kAwaitedBit)) == 0, 1)) {
      slot = Move(object, TypeOf(header));
      return false;
    }
    if ((header & kForwardedBit) == 0) {
      if ((header & kStaysBit) != 0) return true;
      slot = MoveAwaited(object);
      return false;
    }
    slot = ForwardedTo(header);
    return false;
  }

  bool VisitOneEphemeron(Object* original);

  void Await(Object* object, Object* ephemeron) {
    if (waiting_->ephemerons.Add(object, ephemeron)) HeaderOf(object) |= kAwaitedBit;
  }

  // Without memory the next pass over the ephemerons finds what has become ready.
  __attribute__((noinline)) Object* MoveAwaited(Object* object) {
    HeaderOf(object) &= ~kAwaitedBit;
    Object* const copy = Move(object, TypeOf(HeaderOf(object)));
    waiting_->ephemerons.Take(object, [this](Object* ephemeron) {
      static_cast<void>(TryPush(waiting_->ready, ephemeron));
    });
    return copy;
  }

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

  HeapCore& heap_;
  BlockSpace& blocks_;
  Object* pending_ = nullptr;
  uint64_t moved_words_ = 0;
  // An ephemeron waits for the object.  The bit means something else in objects that stay only.
  static constexpr uintptr_t kAwaitedBit = kTenuredBit;
  struct Waiting {
    WaitingEphemerons ephemerons;
    Vector<Object*> ready;  // those that wait no longer
  };
  std::optional<Waiting> waiting_;
};

// Returns the present address of the object; nullptr if it is young, does not stay and has not been
// moved so far.
Object* Survivor(Object* object) {
  if (!IsYoung(object)) return object;
  const uintptr_t header = HeaderOf(object);
  if ((header & kForwardedBit) != 0) return Evacuation::ForwardedTo(header);
  return (header & kStaysBit) != 0 ? object : nullptr;
}

// Pins the young objects that words of the stacks may refer to.
class Pinning : public WordVisitor {
 public:
  explicit Pinning(const YoungSpace& young) : young_(young) {}

  ALLOMON_GC_SCANS void Visit(const uintptr_t* begin, const uintptr_t* end) override {
    for (const uintptr_t* word = begin; word < end; ++word) {
      if (IsYoung(reinterpret_cast<void*>(*word - 1))) Pin(*word);
    }
  }

 private:
  __attribute__((noinline)) void Pin(uintptr_t word) {
    if (slice_ == nullptr || !slice_->Contains(word - 1)) slice_ = young_.Find(word - 1);
    if (slice_ != nullptr) slice_->PinAt(word);
  }

  const YoungSpace& young_;
  YoungSlice* slice_ = nullptr;  // slice of the last word
};

// Adds to *left the noted slots that point to young objects and do not appear in the log in the
// noted order.  Usually the log has that order, and no slot is added.  Returns false without
// memory.
[[maybe_unused]] bool AddThoseNotInTurn(const Mutator& mutator, Vector<Slot*>* left) {
  Slot** logged = mutator.log;
  for (Slot* slot : mutator.noted_for_check) {
    if (logged != mutator.window->log_top && *logged == slot) {
      ++logged;
    } else if (IsYoung(*slot) && !HasTenure(*slot)) {
      if (left->size() == left->capacity() && !TryReserve(*left, left->size() * 2 + 64))
        return false;
      left->push_back(slot);
    }
  }
  return true;
}

// inv.remembered, for debug builds: each slot of an old object that points to a young one, as noted
// by the barrier's callers, is in some log.  Returns true if there is no memory for the check.
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
  if (!TryReserve(logged, logged.size() + heap.remembered.size())) return true;
  logged.insert(logged.end(), heap.remembered.begin(), heap.remembered.end());
  std::sort(logged.begin(), logged.end());
  for (Slot* slot : left) {
    if (!std::binary_search(logged.begin(), logged.end(), slot)) return false;
  }
  return true;
}

// The slots that stay remembered keep their order; the slots of objects moved now are appended.
void VisitRemembered(HeapCore& heap, Evacuation& evacuation) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Slot** entry = mutator->log; entry != mutator->window->log_top; ++entry) {
      evacuation.VisitOld(**entry);
    }
  }
}

// Called before anything else is remembered.
void VisitRememberedBefore(HeapCore& heap, Evacuation& evacuation) {
  size_t kept = 0;
  for (Slot* const slot : heap.remembered) {
    evacuation.Visit(*slot);
    if (!IsYoung(*slot)) continue;
    if (!HasTenure(*slot)) {
      heap.remembered[kept++] = slot;
    } else if (heap.cycle.is_marking()) {
      heap.cycle.NoteYoungSlot(*slot);
    }
  }
  heap.remembered.resize(kept);
}

// The fields of objects that stay are roots.
void VisitStays(HeapCore& heap, Evacuation& evacuation) {
  heap.young.ForEachStay([&evacuation](Object* object) {
    const uintptr_t header = HeaderOf(object);
    if ((header & kStaysBit) == 0) return;
    ForEachSlot(TypeOf(header), object, [&evacuation](Slot& slot) { evacuation.Visit(slot); });
    evacuation.Drain();
  });
}

bool Evacuation::VisitOneEphemeron(Object* original) {
  Object* ephemeron = Survivor(original);
  if (ephemeron == nullptr) return Await(original, original), false;
  EphemeronSlots& slots = EphemeronOf(ephemeron);
  if (slots.key == nullptr) return false;
  Object* key = Survivor(slots.key);
  if (key == nullptr) return Await(slots.key, original), false;
  slots.key = key;
  const bool moves = Survivor(slots.value) == nullptr && slots.value != nullptr;
  Visit(slots.value);
  Drain();
  return moves;
}

template <typename Visit>
void ForEachRecentEphemeron(HeapCore& heap, Visit visit) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Object* ephemeron : mutator->weaks) visit(ephemeron);
  }
  for (Object* ephemeron : heap.left_weaks) visit(ephemeron);
}

bool HasRecentEphemerons(HeapCore& heap) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    if (!mutator->weaks.empty()) return true;
  }
  return !heap.left_weaks.empty();
}

// Repeats until nothing changes, because a value may keep other keys alive.  The second pass finds
// nothing, unless there was no memory to wait in.
void VisitEphemerons(HeapCore& heap, Evacuation& evacuation) {
  if (!HasRecentEphemerons(heap)) return;
  for (bool moved = true; moved;) {
    moved = false;
    evacuation.BeginEphemerons();
    ForEachRecentEphemeron(heap, [&](Object* e) { moved |= evacuation.VisitEphemeron(e); });
  }
  ForEachRecentEphemeron(heap, [](Object* original) {
    Object* ephemeron = Survivor(original);
    if (ephemeron == nullptr) return;
    EphemeronSlots& slots = EphemeronOf(ephemeron);
    if (slots.key != nullptr && Survivor(slots.key) == nullptr) slots.Clear();
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
  table.FindFirstYoung(table.first_young);
}

void VisitRoots(HeapCore& heap, Evacuation& evacuation)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  // The stack is drained after each root, so that objects of one root are moved together.
  ForEachStrongRoot(heap, [&evacuation](Slot& slot) {
    evacuation.Visit(slot);
    evacuation.Drain();
  });
  VisitRememberedBefore(heap, evacuation);
  VisitRemembered(heap, evacuation);
  evacuation.Drain();
  VisitStays(heap, evacuation);
  VisitFinalizable(heap, evacuation);
}

// Decides which objects that stay, or have stayed, are kept in place, and counts them for the
// statistics.
class Staying {
 public:
  // An object without tenure may be moved by the next collection.
  bool Keeps(YoungSlice& slice, Object* object) {
    uintptr_t& header = HeaderOf(object);
    const bool forwarded = (header & kForwardedBit) != 0;
    const bool was_old = slice.IsOld(object);
    if (forwarded || (header & kStaysBit) == 0) {
      if (was_old) (forwarded ? moved_old_words : dead_old_words) += WordsWithHeader(object);
      return false;
    }
    if ((header & kTenuredBit) == 0) {
      header &= ~kStaysBit;
    } else if (!was_old) {
      slice.SetOld(object);
      tenured_words += WordsWithHeader(object);
    }
    return true;
  }

  uint64_t tenured_words = 0;    // have become old
  uint64_t moved_old_words = 0;  // words that were already old when they were moved
  uint64_t dead_old_words = 0;

 private:
  static uint64_t WordsWithHeader(Object* original) {
    Object* const object = Survivor(original) != nullptr ? Survivor(original) : original;
    return SizeWords(TypeOf(HeaderOf(object)), object) + 1;
  }
};

// `young_words`: the words in the nurseries before, without those of old objects.
void CountMinor(HeapCore& heap, uint64_t young_words, uint64_t moved_words,
                const Staying& staying) {
  const uint64_t promoted_words = moved_words - staying.moved_old_words + staying.tenured_words;
  ++heap.statistics.minor_collections;
  heap.statistics.promoted_words += promoted_words;
  heap.statistics.freed_young_words +=
      young_words - promoted_words - heap.young.young_bytes() / kWordBytes;
  heap.statistics.freed_old_words += staying.dead_old_words;
  heap.grown_bytes.fetch_add(promoted_words * kWordBytes, std::memory_order_relaxed);
  if (heap.options.listener != nullptr) heap.options.listener->OnPromotion(promoted_words);
}

// Counts the contents of the nurseries before any object moves.
uint64_t PrepareNurseries(HeapCore& heap) {
  uint64_t young_words = heap.young.young_bytes() / kWordBytes;
  heap.young.ForEachSlice([](YoungSlice& slice) { slice.BeginSearch(); });
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    Sync(*mutator);
    mutator->nursery.Close();
    young_words += mutator->used_bytes() / kWordBytes;
  }
  return young_words;
}

// An ephemeron that is not young and has no young key or value is like any other object.  One that
// was set often, with a key that stays in place, is listed only once again.
void FilterEphemerons(Vector<Object*>& ephemerons) {
  size_t kept = 0;
  for (Object* const original : ephemerons) {
    Object* const ephemeron = Survivor(original);
    if (ephemeron == nullptr) continue;
    const EphemeronSlots& slots = EphemeronOf(ephemeron);
    const bool any = IsYoung(ephemeron) || IsYoung(slots.key) || IsYoung(slots.value);
    if (any) ephemerons[kept++] = ephemeron;
  }
  ephemerons.resize(kept);
  std::sort(ephemerons.begin(), ephemerons.end());
  ephemerons.erase(std::unique(ephemerons.begin(), ephemerons.end()), ephemerons.end());
}

void ReopenNurseries(HeapCore& heap, Staying& staying) {
  const auto keep = [&staying](YoungSlice& slice, Object* object) {
    return staying.Keeps(slice, object);
  };
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    FilterEphemerons(mutator->weaks);
    mutator->noted_for_check.clear();
    mutator->window->log_top = mutator->log;
  }
  FilterEphemerons(heap.left_weaks);
  // Survivor() must not be called after this line: the originals are gone.
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    mutator->ReopenNursery(keep);
  }
  heap.young.RebuildAdopted(keep);
}

// inv.nursery, for debug builds: checks the precise roots.  The verifier checks all references.
[[maybe_unused]] bool NothingElseIsYoung(HeapCore& heap)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  bool young = false;
  ForEachStrongRoot(
      heap, [&](Slot& slot) { young |= IsYoung(slot) && !heap.young.Of(slot)->Stays(slot); });
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
  Pinning pinning(heap.young);
  ScanStacks(heap, pinning);
  Evacuation evacuation(heap);
  VisitRoots(heap, evacuation);
  VisitEphemerons(heap, evacuation);
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next)
    heap.samples.Take(m->new_samples);
  heap.samples.AfterMinor();
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) m->survival.AfterMinor();
  FilterCustoms(heap);
  heap.identities.AfterMinor(Survivor);
  Staying staying;
  ReopenNurseries(heap, staying);
  CountMinor(heap, young_words, evacuation.moved_words(), staying);
  ALLOMON_DCHECK("inv.nursery", NothingElseIsYoung(heap));
}

}  // namespace allomon::gc::internal
