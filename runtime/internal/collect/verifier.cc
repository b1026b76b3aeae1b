#include <new>

#include "runtime/internal/collect/collector.h"
#include "runtime/internal/collect/roots.h"
#include "runtime/internal/object/check.h"
#include "runtime/internal/object/ephemeron_pairs.h"
#include "runtime/internal/object/value_word.h"
#include "runtime/internal/tables/identity_table.h"

namespace allomon::gc::internal {
namespace {

// Visits every reachable object once.  The verifier keeps its own set of visited objects, and uses
// no optimisation of the collector.
class Verification {
 public:
  explicit Verification(HeapCore& heap) : heap_(heap) {}

  void Visit(const Slot& slot) {
    Object* object = slot;
    if (!PointsToObject(object) || seen_.Find(object) != nullptr) return;
    const bool young = IsYoung(object);
    if (young) CheckStays(object);
    const uintptr_t header = HeaderOf(object);
    ALLOMON_GC_CHECK((header & kForwardedBit) == 0,
                     "inv.header: a forwarded header outside a collection");
    ALLOMON_GC_CHECK(header > 4096, "inv.header: an object without a type");
    const bool known =
        young || (IsLarge(header) ? heap_.large.Contains(object) : heap_.blocks.Contains(object));
    ALLOMON_GC_CHECK(known, "inv.space: a reference to memory that is not of this heap");
    if (!seen_.Reserve(seen_.size() + 1)) throw std::bad_alloc();
    seen_.Add({object, 0});
  }

  void Drain() {
    while (n_visited_ < seen_.size()) {
      Object* const object = seen_.At(n_visited_++).object;
      const TypeInfo& type = TypeOf(HeaderOf(object));
      if (!IsYoung(object)) words_ += SizeWords(type, object) + 1;
      ForEachSlot(type, object, [this](Slot& slot) { Visit(slot); });
      if (HasPairs(type)) VisitPairs(type, object);
    }
  }

  uint64_t words() const { return words_; }
  template <typename Visit>
  void ForEachSeen(Visit visit) const {
    for (size_t i = 0; i < seen_.size(); ++i) visit(seen_.At(i).object);
  }

 private:
  void VisitPairs(const TypeInfo& type, Object* object) {
    uint32_t keys = 0;
    ForEachPair(object, [&](EphemeronPair& pair) {
      ++keys;
      Visit(pair.key);
      Visit(pair.value);
    });
    if (type.kind == Kind::kEphemeron) return;
    WeakEntries& table = WeakEntriesOf(object);
    ALLOMON_GC_CHECK(keys == table.live && keys <= table.used && table.used < table.capacity,
                     "inv.map.count: a WeakMap has another number of entries than it says");
    for (uint32_t i = 0; i < table.capacity; ++i) {
      const WeakEntry& entry = table.entries()[i];
      const bool is_young = IsYoung(entry.pair.key) || IsYoung(entry.pair.value);
      ALLOMON_GC_CHECK(!is_young || entry.next_recent != 0,
                       "inv.map.recent: minor collections do not visit a young key or value");
    }
  }

  void CheckStays(Object* object) const {
    const YoungSlice* const slice = heap_.young.Of(object);
    ALLOMON_GC_CHECK(slice != nullptr && slice->Stays(object),
                     "inv.nursery: a young object that does not stay is referenced after a "
                     "collection");
  }

  HeapCore& heap_;
  AddressMap seen_;       // its hashes are not used
  size_t n_visited_ = 0;  // number of visited entries
  uint64_t words_ = 0;
};

// Walks from the strong roots, the objects that stay and the finalizers.  Returns false without
// memory for the set: the heap is not verified this time, since an exception would leave the world
// stopped.
bool Walk(HeapCore& heap, Verification& verification)
    ALLOMON_REQUIRES(heap.globals_mutex, heap.tables_mutex) {
  try {
    ForEachStrongRoot(heap, [&verification](Slot& slot) { verification.Visit(slot); });
    heap.young.ForEachStay([&verification](Object* object) { verification.Visit(object); });
    for (const Finalizer& finalizer : heap.finalizers.entries) {
      verification.Visit(finalizer.object);
    }
    verification.Drain();
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

}  // namespace

void VerifyMarked(HeapCore& heap, const std::function<bool(Object*)>& is_marked) {
  Verification verification(heap);
  if (!Walk(heap, verification)) return;
  verification.ForEachSeen([&is_marked](Object* object) {
    ALLOMON_GC_CHECK(is_marked(object), "inv.mark.all: a reachable object was not marked");
  });
}

void VerifyHeap(HeapCore& heap) {
  Verification verification(heap);
  if (!Walk(heap, verification)) return;
  ALLOMON_GC_CHECK(verification.words() <= heap.OldWords(),
                   "inv.count: more words are reachable than the heap holds");
}

}  // namespace allomon::gc::internal
