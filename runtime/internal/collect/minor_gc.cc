#include <algorithm>

#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/evacuation.h"
#include "runtime/internal/collect/limit.h"
#include "runtime/internal/collect/root_pieces.h"
#include "runtime/internal/collect/roots.h"
#include "runtime/internal/collect/stack_roots.h"
#include "runtime/internal/object/check.h"
#include "runtime/internal/object/ephemeron_pairs.h"

namespace allomon::gc::internal {
namespace {

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
void VisitRemembered(HeapCore& heap, Evacuation<false>& evacuation) {
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    for (Slot** entry = mutator->log; entry != mutator->window->log_top; ++entry) {
      evacuation.VisitOld(**entry);
    }
  }
}

// Called before anything else is remembered.
template <bool kParallel>
void VisitRememberedBefore(HeapCore& heap, Evacuation<kParallel>& evacuation) {
  size_t kept = 0;
  for (Slot* const slot : heap.remembered) {
    evacuation.Visit(*slot);
    Object* const object = evacuation.Load(*slot);
    if (!IsYoung(object)) continue;
    if ((evacuation.LoadHeader(object) & kTenuredBit) == 0) {
      heap.remembered[kept++] = slot;
    } else if (heap.cycle.is_marking()) {
      heap.cycle.NoteYoungSlot(*slot);
    }
  }
  heap.remembered.resize(kept);
}

// The fields of objects that stay are roots.
template <bool kParallel>
void VisitStays(HeapCore& heap, Evacuation<kParallel>& evacuation) {
  heap.young.ForEachStay([&evacuation](Object* object) {
    const uintptr_t header = evacuation.LoadHeader(object);
    if ((header & kStaysBit) == 0) return;
    ForEachSlot(TypeOf(header), object, [&evacuation](Slot& slot) { evacuation.Visit(slot); });
    evacuation.Drain();
  });
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
void VisitEphemerons(HeapCore& heap, Evacuation<false>& evacuation) {
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
template <bool kParallel>
void VisitFinalizable(HeapCore& heap, Evacuation<kParallel>& evacuation)
    ALLOMON_REQUIRES(heap.tables_mutex) {
  WeakTable<Finalizer>& table = heap.finalizers;
  for (size_t i = table.first_young; i < table.entries.size(); ++i) {
    evacuation.Visit(table.entries[i].object);
  }
  evacuation.Drain();
  table.FindFirstYoung(table.first_young);
}

__attribute__((always_inline)) inline void VisitRoots(HeapCore& heap, Evacuation<false>& evacuation)
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

// Visits the roots by several threads.  The remembered slots and the value stacks are shared out,
// and pending copies are exchanged.  All other roots are the collecting thread's.
class ParallelVisit {
 public:
  ParallelVisit(HeapCore& heap, size_t members)
      : heap_(heap), members_(members), pieces_(heap.world.first()), work_(members) {}

  // Returns the number of moved words.
  uint64_t Run() ALLOMON_REQUIRES(heap_.globals_mutex, heap_.tables_mutex) {
    heap_.team.BeginJob(Help, this);
    Evacuation<true> evacuation(heap_, heap_.cards, work_, 0);
    VisitOwnRoots(evacuation);
    VisitPieces(evacuation);
    VisitStays(heap_, evacuation);
    VisitFinalizable(heap_, evacuation);
    evacuation.DrainShared();
    results_[0] = evacuation.Finish();
    heap_.team.EndJob();
    return Sum();
  }

 private:
  static void Help(void* self, size_t member) { static_cast<ParallelVisit*>(self)->HelpAs(member); }

  void HelpAs(size_t member) {
    if (member >= members_ || !work_.Join()) return;
    Evacuation<true> evacuation(heap_, heap_.cards, work_, member);
    VisitPieces(evacuation);
    evacuation.DrainShared();
    results_[member] = evacuation.Finish();
  }

  void VisitOwnRoots(Evacuation<true>& evacuation)
      ALLOMON_REQUIRES(heap_.globals_mutex, heap_.tables_mutex) {
    const auto visit = [&evacuation](Slot& slot) {
      evacuation.Visit(slot);
      evacuation.Drain();
    };
    for (Mutator* m = heap_.world.first(); m != nullptr; m = m->next) ForEachRootNode(*m, visit);
    ForEachSharedRoot(heap_, visit);
    VisitRememberedBefore(heap_, evacuation);
  }

  void VisitPieces(Evacuation<true>& evacuation) {
    for (RootPieces::Piece piece = pieces_.Take(); piece.count != 0; piece = pieces_.Take()) {
      for (size_t i = 0; i < piece.count; ++i) {
        if (piece.logged != nullptr) {
          evacuation.VisitOld(*piece.logged[i]);
        } else {
          evacuation.Visit(piece.slots[i]);
        }
      }
      evacuation.Drain();
    }
  }

  // When all others have finished.
  uint64_t Sum() {
    uint64_t moved_words = 0;
    for (const EvacuationResult& result : results_) {
      moved_words += result.moved_words;
      for (Slot* const slot : result.stays) Remember(heap_, *slot);
      if (result.misses_slots && heap_.cycle.is_marking()) heap_.cycle.KeepTenure();
    }
    return moved_words;
  }

  HeapCore& heap_;
  const size_t members_;
  RootPieces pieces_;
  SharedWork work_;
  EvacuationResult results_[BlockSpace::kMostLanes];
};

// Returns how many threads are to collect.  Each lane of the old space wants room of its own
// (inv.reserve).
__attribute__((noinline)) size_t MembersFor(HeapCore& heap, uint64_t young_words) {
  const size_t can = std::min(heap.n_collectors, heap.team.n_threads() + 1);
  const size_t bytes = young_words * kWordBytes + heap.young.stays_bytes();
  if (can == 1 || !heap.choice.TakesSeveral(bytes) || !heap.cards.Reserve()) return 1;
  size_t members = can;
  while (members > 1 && BlockSpace::BlocksFor(bytes, members) > heap.blocks.free_blocks())
    --members;
  return members;
}

// Returns the number of moved words.  The analysis does not see that the visit's heap is this one.
__attribute__((noinline)) uint64_t VisitRootsBySeveral(HeapCore& heap, size_t members)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  ++heap.statistics.parallel_collections;
  heap.choice.BeginSeveral();
  return ParallelVisit(heap, members).Run();
}

// Returns the number of moved words.
__attribute__((always_inline)) inline uint64_t VisitAll(HeapCore& heap, uint64_t young_words)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  Evacuation<false> evacuation(heap);
  const size_t members = heap.n_collectors == 1 ? 1 : MembersFor(heap, young_words);
  uint64_t moved_words = 0;
  if (__builtin_expect(members == 1, 1)) {
    VisitRoots(heap, evacuation);
  } else {
    moved_words = VisitRootsBySeveral(heap, members);
  }
  VisitEphemerons(heap, evacuation);
  return moved_words + evacuation.moved_words();
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
    mutator->EmptyLog();
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
  const uint64_t moved_words = VisitAll(heap, young_words);
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next)
    heap.samples.Take(m->new_samples);
  heap.samples.AfterMinor();
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) m->survival.AfterMinor();
  FilterCustoms(heap);
  heap.identities.AfterMinor(Survivor);
  Staying staying;
  ReopenNurseries(heap, staying);
  CountMinor(heap, young_words, moved_words, staying);
  ALLOMON_DCHECK("inv.nursery", NothingElseIsYoung(heap));
}

}  // namespace allomon::gc::internal
