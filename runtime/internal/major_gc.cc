#include <algorithm>
#include <utility>

#include "runtime/internal/check.h"
#include "runtime/internal/collector.h"
#include "runtime/internal/stack_roots.h"
#include "runtime/internal/value_word.h"

namespace allomon::gc::internal {
namespace {

// Depth-first marking with an explicit stack.  When the stack cannot grow, objects are marked
// without being pushed.  A scan over the marked objects finds them again.
class Marking {
 public:
  explicit Marking(HeapCore& heap) : heap_(heap) {}

  // The object is marked some visits later, when its header has come into the cache, or by Drain().
  void Visit(Slot& slot) {
    if (!PointsToObject(slot)) return;
    __builtin_prefetch(&HeaderOf(slot));
    Object* const earlier = std::exchange(coming_[next_coming_], slot);
    next_coming_ = (next_coming_ + 1) % kComing;
    if (earlier != nullptr) MarkObject(earlier);
  }

  void Drain() {
    DrainStack();
    while (overflowed_) {
      overflowed_ = false;
      const auto scan = [this](Object* object) {
        Scan(object);
        DrainStack();
      };
      heap_.blocks.ForEachMarked(scan);
      heap_.young.ForEachMarked(scan);
      heap_.large.ForEachMarked(scan);
    }
  }

  bool IsMarked(Object* object) const {
    if (IsYoung(object)) return heap_.young.IsMarked(object);
    if (gc::internal::IsLarge(HeaderOf(object))) return LargeNode::Of(object)->marked;
    return Chunk::Of(object)->IsMarked(object);
  }

  // The marked ephemerons, linked through themselves; an ephemeron that is found later stands in
  // front.
  Object* first_ephemeron() const { return ephemerons_; }
  uint64_t marked_words() const { return marked_words_; }
  uint64_t marked_old_words() const { return marked_words_ - marked_young_words_; }

 private:
  bool SetMarked(Object* object, uintptr_t header, uint64_t words) {
    if (IsYoung(object)) {
      if (!heap_.young.Of(object)->SetMarked(object)) return false;
      marked_young_words_ += words + 1;
      return true;
    }
    if (gc::internal::IsLarge(header)) {
      LargeNode* node = LargeNode::Of(object);
      if (node->marked) return false;
      return node->marked = true;
    }
    Chunk* chunk = Chunk::Of(object);
    if (!chunk->SetMarked(object)) return false;
    chunk->MarkLines(object, words);
    return true;
  }

  void MarkObject(Object* object) {
    const uintptr_t header = HeaderOf(object);
    const TypeInfo& type = TypeOf(header);
    const uint64_t words = SizeWords(type, object);
    if (!SetMarked(object, header, words)) return;
    marked_words_ += words + 1;
    if (type.kind == Kind::kEphemeron) {
      EphemeronOf(object).next_marked = ephemerons_;
      ephemerons_ = object;
    }
    if (HasReferences(type)) Push(object);
  }

  void Push(Object* object) {
    if (__builtin_expect(depth_ == stack_.size(), 0) && !GrowStack()) return PushReserved(object);
    stack_[depth_++] = object;
  }

  void PushReserved(Object* object) {
    if (n_reserved_ == kReserved) {
      overflowed_ = true;
    } else {
      reserved_[n_reserved_++] = object;
    }
  }

  bool GrowStack() {
    const size_t most = heap_.options.mark_stack_entries;
    if (depth_ >= most) return false;
    const size_t entries = std::min(most, std::max<size_t>(16, depth_ * 2));
    if (!TryReserve(stack_, entries)) return false;
    stack_.resize(entries);
    return true;
  }

  void Scan(Object* object) {
    const bool is_old = !IsYoung(object);
    ForEachSlot(TypeOf(HeaderOf(object)), object, [this, is_old](Slot& slot) {
      if (__builtin_expect(is_old && IsYoung(slot), 0)) RememberOnce(slot);
      Visit(slot);
    });
  }

  // A scan for objects that were marked without being pushed comes by again and again.
  void RememberOnce(Slot& slot) {
    if (heap_.remembered.empty() || heap_.remembered.back() != &slot) Remember(heap_, slot);
  }

  void DrainStack() {
    do {
      DrainKnown();
    } while (MarkComing());
  }

  void DrainKnown() {
    for (;;) {
      while (depth_ > 0) Scan(stack_[--depth_]);
      if (n_reserved_ == 0) return;
      Scan(reserved_[--n_reserved_]);
    }
  }

  // Returns whether there were any objects to mark.
  bool MarkComing() {
    bool any = false;
    for (Object*& coming : coming_) {
      if (coming == nullptr) continue;
      any = true;
      MarkObject(std::exchange(coming, nullptr));
    }
    return any;
  }

  // As many as the cache misses that a core can have under way.
  static constexpr size_t kComing = 8;

  HeapCore& heap_;
  Object* coming_[kComing] = {};
  size_t next_coming_ = 0;
  Vector<Object*> stack_;  // the first depth_ entries
  size_t depth_ = 0;
  // Without any stack, a linked list would need a scan of the heap for each of its cells.
  static constexpr size_t kReserved = 64;
  Object* reserved_[kReserved];
  size_t n_reserved_ = 0;
  Object* ephemerons_ = nullptr;
  uint64_t marked_words_ = 0;
  uint64_t marked_young_words_ = 0;
  bool overflowed_ = false;
};

// Marks the values whose keys are marked, until nothing changes.
void MarkEphemerons(Marking& marking) {
  for (uint64_t before = 0; before != marking.marked_words();) {
    before = marking.marked_words();
    for (Object* e = marking.first_ephemeron(); e != nullptr; e = EphemeronOf(e).next_marked) {
      EphemeronSlots& slots = EphemeronOf(e);
      if (slots.key == nullptr || !marking.IsMarked(slots.key)) continue;
      marking.Visit(slots.value);
      marking.Drain();
    }
  }
}

void ClearDeadEphemerons(Marking& marking) {
  for (Object* e = marking.first_ephemeron(); e != nullptr; e = EphemeronOf(e).next_marked) {
    EphemeronSlots& slots = EphemeronOf(e);
    if (slots.key != nullptr && !marking.IsMarked(slots.key)) slots.key = slots.value = nullptr;
  }
}

// Revives the unreachable objects with finalizers, in the order of their registration, after weak
// references to them were cleared.
void MarkFinalizable(HeapCore& heap, Marking& marking) ALLOMON_REQUIRES(heap.tables_mutex) {
  WeakTable<Finalizer>& table = heap.finalizers;
  heap.due_actions += table.MoveDead(
      0, [&marking](const Finalizer& finalizer) { return !marking.IsMarked(finalizer.object); });
  for (size_t i = table.due_head; i < table.due.size(); ++i) {
    marking.Visit(table.due[i].object);
    marking.Drain();
  }
}

void FilterCustoms(HeapCore& heap, const Marking& marking) ALLOMON_REQUIRES(heap.tables_mutex) {
  heap.due_actions += heap.customs.MoveDead(
      0, [&marking](const CustomBlockEntry& entry) { return !marking.IsMarked(entry.object); });
}

void CountMajor(HeapCore& heap, uint64_t live_words) {
  ++heap.statistics.major_collections;
  heap.statistics.freed_old_words += heap.OldWords() - live_words;
}

// An object that no stack refers to any more loses its tenure; the slots that point to it are
// remembered by now.
void Normalize(uintptr_t& header) {
  constexpr uintptr_t kBoth = kStaysBit | kTenuredBit;
  if ((header & kBoth) != kBoth) header &= ~kBoth;
}

// What has died in its place becomes a hole.
void ReopenNurseries(HeapCore& heap, const Marking& marking) {
  const size_t young_bytes = heap.young.young_bytes();
  const auto lives = [](const YoungSlice& slice, Object* object) {
    if (!slice.IsMarked(object)) return false;
    Normalize(HeaderOf(object));
    return true;
  };
  const auto forget_dead = [&marking](Vector<Object*>& ephemerons) {
    ephemerons.erase(std::remove_if(ephemerons.begin(), ephemerons.end(),
                                    [&marking](Object* e) { return !marking.IsMarked(e); }),
                     ephemerons.end());
  };
  forget_dead(heap.left_weaks);
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    forget_dead(mutator->weaks);
  }
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    mutator->ReopenNursery(lives);
  }
  heap.young.RebuildAdopted(lives);
  heap.statistics.freed_young_words += (young_bytes - heap.young.young_bytes()) / kWordBytes;
}

}  // namespace

bool MarkAndSweep(HeapCore& heap, size_t keep_free_blocks) {
  ALLOMON_DCHECK("inv.world", heap.world.IsStoppedByMe());
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) m->CloseOldWindow();
  if (!FindStackObjects(heap)) return false;
  heap.blocks.ClearMarks();
  heap.large.ClearMarks();
  heap.young.ForEachSlice([](YoungSlice& slice) { slice.ClearMarks(); });
  heap.remembered.clear();
  Marking marking(heap);
  ForEachStackObject(heap, [&marking](Object*& object) { marking.Visit(object); });
  ForEachStrongRoot(heap, [&marking](Slot& slot) { marking.Visit(slot); });
  marking.Drain();
  MarkEphemerons(marking);
  ClearDeadEphemerons(marking);
  MarkFinalizable(heap, marking);
  // The objects revived for finalizers may reach further ephemerons and keys.
  MarkEphemerons(marking);
  ClearDeadEphemerons(marking);
  const auto is_marked = [&marking](Object* object) { return marking.IsMarked(object); };
  heap.samples.AfterMajor(is_marked);
  for (Mutator* m = heap.world.first(); m != nullptr; m = m->next) {
    m->survival.AfterMajor(is_marked);
  }
  FilterCustoms(heap, marking);
  heap.identities.AfterMajor(is_marked);
  ReopenNurseries(heap, marking);
  CountMajor(heap, marking.marked_old_words() + heap.young.old_bytes() / kWordBytes);
  heap.blocks.Sweep(keep_free_blocks);
  heap.large.Sweep();
  return true;
}

}  // namespace allomon::gc::internal
