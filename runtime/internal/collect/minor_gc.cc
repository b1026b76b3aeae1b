#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/limit.h"
#include "runtime/internal/collect/roots.h"
#include "runtime/internal/collect/stack_roots.h"
#include "runtime/internal/object/check.h"
#include "runtime/internal/object/ephemeron_pairs.h"
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
  // If the key of a pair has survived, its value survives.  If not, or if a young ephemeron has
  // not, the pair waits for that.  `original` is where the pair was before the collection.  Returns
  // whether a value had to be moved.
  bool VisitPair(EphemeronPair* original) {
    bool moves = VisitOnePair(original);
    Vector<EphemeronPair*>& ready = waiting_->ready;
    while (!ready.empty()) {
      EphemeronPair* const next = ready.back();
      ready.pop_back();
      moves |= VisitOnePair(next);
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

  bool VisitOnePair(EphemeronPair* original);

  void Await(Object* object, EphemeronPair* pair) {
    if (waiting_->pairs.Add(object, pair)) HeaderOf(object) |= kAwaitedBit;
  }

  // Without memory the next pass over the pairs finds what has become ready.
  __attribute__((noinline)) Object* MoveAwaited(Object* object) {
    HeaderOf(object) &= ~kAwaitedBit;
    Object* const copy = Move(object, TypeOf(HeaderOf(object)));
    waiting_->pairs.Take(
        object, [this](EphemeronPair* pair) { static_cast<void>(TryPush(waiting_->ready, pair)); });
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
    WaitingEphemerons pairs;
    Vector<EphemeronPair*> ready;  // those that wait no longer
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

// Whether the slot lies in an object of the heap.  While large objects are swept they cannot be
// looked up, and count as found.
bool LiesInOldSpace(HeapCore& heap, Slot* slot) {
  if (heap.blocks.Contains(slot) || heap.cycle.is_sweeping()) return true;
  return heap.large.ObjectAt(reinterpret_cast<uintptr_t>(slot)) != nullptr;
}

// The barrier takes whatever is not young for an old object.  A slot of a stack or of malloc's
// memory would be written by a later collection, when something else is there.
void CheckLogs(HeapCore& heap) {
  uintptr_t low = 0;
  uintptr_t high = 0;
  if (!heap.cycle.is_sweeping()) heap.large.FindBounds(&low, &high);
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Slot** entry = mutator->log; entry != mutator->window->log_top; ++entry) {
      ALLOMON_GC_CHECK(LiesInOldSpace(heap, *entry),
                       "rule.field: a Field outside of the heap was assigned a young object: a "
                       "managed struct is no variable, make<T>() makes it");
    }
  }
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

// Returns where the pair is now: in an ephemeron, which begins with its pair, or in a table, which
// does not move.  nullptr like Survivor().
EphemeronPair* SurvivingPair(EphemeronPair* original) {
  return reinterpret_cast<EphemeronPair*>(Survivor(reinterpret_cast<Object*>(original)));
}

bool Evacuation::VisitOnePair(EphemeronPair* original) {
  EphemeronPair* const pair = SurvivingPair(original);
  if (pair == nullptr) return Await(reinterpret_cast<Object*>(original), original), false;
  if (pair->key == nullptr) return false;
  Object* key = Survivor(pair->key);
  if (key == nullptr) return Await(pair->key, original), false;
  pair->key = key;
  const bool moves = Survivor(pair->value) == nullptr && pair->value != nullptr;
  Visit(pair->value);
  Drain();
  return moves;
}

// A young ephemeron may have been moved, and then its old header tells no kind.
bool IsTableOfPairs(Object* original) {
  return !IsYoung(original) && TypeOf(HeaderOf(original)).kind == Kind::kWeakEntries;
}

template <typename Visit>
void ForEachWithRecentPairs(HeapCore& heap, Visit visit) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Object* object : mutator->weaks) visit(object);
  }
  for (Object* object : heap.left_weaks) visit(object);
}

// Calls visit(EphemeronPair*) for the place of each pair before the collection.
template <typename Visit>
void ForEachRecentPair(Object* object, Visit visit) {
  if (!IsTableOfPairs(object)) return visit(&EphemeronOf(object).pair);
  WeakEntriesOf(object).ForEachRecent([&visit](EphemeronPair& pair) { visit(&pair); });
}

// The key of a pair that has survived is dead.
void ClearDeadPairs(Object* object) {
  uint32_t cleared = 0;
  ForEachRecentPair(object, [&cleared](EphemeronPair* original) {
    EphemeronPair* const pair = SurvivingPair(original);
    if (pair == nullptr || pair->key == nullptr || Survivor(pair->key) != nullptr) return;
    pair->Clear();
    ++cleared;
  });
  if (IsTableOfPairs(object)) WeakEntriesOf(object).live -= cleared;
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
    ForEachWithRecentPairs(heap, [&](Object* object) {
      ForEachRecentPair(object, [&](EphemeronPair* p) { moved |= evacuation.VisitPair(p); });
    });
  }
  ForEachWithRecentPairs(heap, ClearDeadPairs);
}

// Young custom blocks that were not moved are dead.
void FilterCustoms(HeapCore& heap) ALLOMON_REQUIRES(heap.tables_mutex) {
  heap.due_actions += heap.customs.MoveDead(heap.customs.first_young, [](CustomBlockEntry& entry) {
    entry.bytes = entry.bytes_now();
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

// Whether the next minor collection visits the object, which is no original any more.
bool IsStillRecent(Object* object) {
  const auto is_young = [](const EphemeronPair& pair) {
    return IsYoung(pair.key) || IsYoung(pair.value);
  };
  if (IsTableOfPairs(object)) return WeakEntriesOf(object).FilterRecent(is_young);
  return IsYoung(object) || is_young(EphemeronOf(object).pair);
}

// An ephemeron that is not young and has no young key or value is like any other object.  One that
// was set often, with a key that stays in place, is listed only once again.
void FilterEphemerons(Vector<Object*>& ephemerons) {
  size_t kept = 0;
  for (Object* const original : ephemerons) {
    Object* const object = Survivor(original);
    if (object != nullptr && IsStillRecent(object)) ephemerons[kept++] = object;
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
    if (!mutator->weaks.empty()) FilterEphemerons(mutator->weaks);
    mutator->noted_for_check.clear();
    mutator->window->log_top = mutator->log;
  }
  if (!heap.left_weaks.empty()) FilterEphemerons(heap.left_weaks);
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
  if (allomon::internal::kDebugChecks || heap.options.verify || heap.options.stress_every != 0) {
    CheckLogs(heap);
  }
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
