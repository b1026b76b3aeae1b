// Finds the reachable objects of the old space, depth first, with an explicit stack.
//
// An object is marked some visits after it was found, when the prefetch of its header has
// completed. When the stack cannot grow, objects are marked without being pushed, and a scan over
// the marked objects finds them again.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MARKER_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MARKER_H_

#include <algorithm>
#include <utility>

#include "runtime/internal/collect/mark_stack.h"
#include "runtime/internal/collect/spaces.h"
#include "runtime/internal/object/ephemeron_pairs.h"
#include "runtime/internal/object/value_word.h"
#include "runtime/internal/tables/waiting_ephemerons.h"

namespace allomon::gc::internal {

enum class MarkMode { kWhole, kInSlices };

// MarkMode::kWhole marks everything in one pause, including young objects that stay; the nurseries
// hold no other objects. MarkMode::kInSlices marks while the program runs, on one thread at a time.
// It does not mark young objects; the cycle knows which of those that stay have been reached.
template <MarkMode kMode>
class Marker {
  static constexpr bool kInSlices = kMode == MarkMode::kInSlices;

 public:
  Marker(Spaces& spaces, size_t stack_entries) : spaces_(spaces), stack_(stack_entries) {}
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;

  void Visit(Slot& slot) {
    Object* const object = Load(slot);
    if (!PointsToObject(object)) return;
    if (kInSlices && IsYoung(object)) return Reach(object);
    VisitObject(object);
  }

  // --- kInSlices.

  // Adds an object to mark later, without reading the object.  Returns false without memory.
  [[nodiscard]] bool AddRoot(Object* object) {
    return !PointsToObject(object) || IsYoung(object) || TryPush(roots_, object);
  }

  // Without memory for it the object is marked at once, with nothing left to be cleared; before the
  // beginning there are no marks to be set, so there is none.
  __attribute__((noinline)) void MarkRoot(Object* object) {
    MarkState& cycle = spaces_.cycle;
    using Phase = MarkState::Phase;
    if (AddRoot(object)) return;
    if (cycle.phase() == Phase::kIdle) {
      cycle.lacks_room = true;
      return;
    }
    while (cycle.phase() == Phase::kClear && spaces_.blocks.ClearNext()) {
    }
    if (cycle.phase() == Phase::kClear) cycle.EnterPhase(Phase::kMark);
    Visit(object);
  }
  // The young object is reachable.
  // In a loop, since objects that stay may be a long list.
  __attribute__((noinline)) void Reach(Object* object) {
    MarkState& cycle = spaces_.cycle;
    cycle.ReachOne(object);
    while (const MarkState::Held* const held = cycle.TakeReached()) {
      for (size_t i = held->first; i < held->first + held->count; ++i) {
        Object* const slot = cycle.HeldSlot(i);
        if (IsYoung(slot)) {
          cycle.ReachOne(slot);
        } else {
          MarkRoot(slot);
        }
      }
    }
  }

  // Marks until no work is left or stop().  Returns whether no work is left.
  template <typename Stop>
  bool MarkUntil(Stop stop) {
    while (Step()) {
      if (++steps_ < kStepsPerLook) continue;
      steps_ = 0;
      if (stop()) return false;
    }
    return true;
  }
  // Visits the slots of objects that did not fit on the stack, by a walk over the whole heap while
  // the world is stopped.
  void Rescan() {
    while (std::exchange(overflowed_, false)) {
      const auto scan = [this](Object* object) {
        Scan(object);
        MarkAll();
      };
      if constexpr (kInSlices) {
        spaces_.blocks.ForEachMarkedSince(scan);
      } else {
        spaces_.blocks.ForEachMarked(scan);
        spaces_.young.ForEachMarked(scan);
      }
      spaces_.large.ForEachMarked(scan);
    }
  }

  // Marks everything that is reachable from the visited objects.
  void Drain() {
    MarkAll();
    Rescan();
  }

  bool IsMarked(Object* object) const {
    if (IsYoung(object)) {
      return kInSlices ? spaces_.cycle.YoungLives(object) : spaces_.young.IsMarked(object);
    }
    if (gc::internal::IsLarge(HeaderOf(object))) return spaces_.large.IsMarked(object);
    return Chunk::Of(object)->IsMarked(object);
  }

  // --- While ephemerons are followed, when all else is marked.  An object that becomes marked then
  // is looked for among the keys that are awaited.
  void BeginEphemerons() {
    waiting_.Clear();
    follows_ephemerons_ = true;
    has_missed_ = false;
  }
  void EndEphemerons() { follows_ephemerons_ = false; }
  // Visits the value if the key is marked; else it is visited when that becomes marked.
  void VisitPair(EphemeronPair& pair) {
    if (IsMarked(pair.key)) return Visit(pair.value);
    waiting_.Add(pair.key, &pair);
  }
  // Whether a pair was met for whose value there was no memory.
  bool has_missed() const { return has_missed_; }

  // The marked objects with pairs, linked through themselves; the one found last comes first.
  Object* first_ephemeron() const { return ephemerons_; }
  uint64_t marked_words() const { return marked_words_; }
  // Increases with each object that becomes marked (IsMarked()).
  uint64_t progress() const { return marked_words_ + (kInSlices ? spaces_.cycle.n_reached() : 0); }
  uint64_t marked_old_words() const { return marked_words_ - marked_young_words_; }

 private:
  // Acquire: pairs with the release of Field's stores, so the object's contents are visible.
  static Object* Load(Slot& slot) {
    return kInSlices ? __atomic_load_n(&slot, __ATOMIC_ACQUIRE) : slot;
  }

  void VisitObject(Object* object) {
    __builtin_prefetch(&HeaderOf(object));
    Chunk::Of(object)->PrefetchMarks(object);
    Object* const earlier = std::exchange(coming_[next_coming_], object);
    next_coming_ = (next_coming_ + 1) % kComing;
    if (earlier != nullptr) MarkObject(earlier);
  }

  bool SetMarkedYoung(Object* object, uint64_t words) {
    if (!spaces_.young.Of(object)->SetMarked(object)) return false;
    marked_young_words_ += words + 1;
    return true;
  }

  bool SetMarked(Object* object, uintptr_t header, uint64_t words) {
    if (!kInSlices && IsYoung(object)) return SetMarkedYoung(object, words);
    if (gc::internal::IsLarge(header)) return spaces_.large.SetMarked(object);
    Chunk* chunk = Chunk::Of(object);
    if (!chunk->SetMarked(object)) return false;
    chunk->CountLive(object, words + 1);
    return true;
  }

  void MarkObject(Object* object) {
    const uintptr_t header = HeaderOf(object);
    const TypeInfo& type = TypeOf(header);
    const uint64_t words = SizeWords(type, object);
    if (!SetMarked(object, header, words)) return;
    marked_words_ += words + 1;
    if (HasPairs(type)) {
      NextMarked(object) = ephemerons_;
      ephemerons_ = object;
    }
    if (__builtin_expect(follows_ephemerons_, 0)) Wake(object, type);
    if (!HasReferences(type)) return;
    // If there is no memory for the entry, all slots of a long object are visited in one step.
    if (kInSlices && words > kLongWords && TryPush(long_, {object, 0})) return;
    Push(object);
  }

  __attribute__((noinline)) void Wake(Object* object, const TypeInfo& type) {
    const auto follow = [this](EphemeronPair& pair) { Follow(pair); };
    if (HasPairs(type)) ForEachPair(object, follow);
    waiting_.Take(object, [&follow](EphemeronPair* pair) { follow(*pair); });
  }

  // Like VisitPair(), but without marking anything: a chain of ephemerons would be a deep
  // recursion.
  void Follow(EphemeronPair& pair) {
    if (!IsMarked(pair.key)) {
      waiting_.Add(pair.key, &pair);
    } else if (kInSlices && IsYoung(pair.value)) {
      Reach(pair.value);
    } else if (PointsToObject(pair.value)) {
      has_missed_ |= !TryPush(roots_, pair.value);
    }
  }

  void Push(Object* object) {
    if (__builtin_expect(!stack_.TryPush(object), 0)) PushReserved(object);
  }

  void PushReserved(Object* object) {
    if (n_reserved_ == kReserved) {
      overflowed_ = true;
    } else {
      reserved_[n_reserved_++] = object;
    }
  }

  void Scan(Object* object) {
    const bool is_old = !IsYoung(object);
    const TypeInfo& type = TypeOf(HeaderOf(object));
    if (kInSlices) steps_ += static_cast<uint32_t>(SizeWords(type, object) / kWordsPerStep);
    ForEachSlot(type, object, [this, is_old](Slot& slot) { ScanSlot(slot, is_old); });
  }

  void ScanSlot(Slot& slot, bool is_old) {
    Object* const object = Load(slot);
    if (__builtin_expect(IsYoung(object), 0)) {
      if (is_old) NoteYoung(slot);
      if (kInSlices) return Reach(object);
    }
    if (PointsToObject(object)) VisitObject(object);
  }

  // A rescan for objects that were marked without being pushed meets the same slot repeatedly.
  void NoteYoung(Slot& slot) {
    if constexpr (kInSlices) {
      spaces_.cycle.NoteYoungSlot(slot);
    } else if (spaces_.remembered.empty() || spaces_.remembered.back() != &slot) {
      Remember(spaces_, slot);
    }
  }

  // The next slots of a long object.
  void ScanLong() {
    LongObject& top = long_.back();
    Object* const object = top.object;
    const uint64_t from = top.next;
    const uint64_t to = from + kLongWords;
    top.next = to;
    steps_ += kLongWords / kWordsPerStep;
    const TypeInfo& type = TypeOf(HeaderOf(object));
    if (to >= SizeWords(type, object)) long_.pop_back();
    ForEachSlotBetween(type, object, from, to, [this](Slot& slot) { ScanSlot(slot, true); });
  }

  // Does one step of work; false if nothing was left.
  bool Step() {
    if (Object* const object = stack_.Pop(); object != nullptr) return Scan(object), true;
    if (n_reserved_ > 0) return Scan(reserved_[--n_reserved_]), true;
    if (!roots_.empty()) {
      Object* const root = roots_.back();
      roots_.pop_back();
      return VisitObject(root), true;
    }
    if (MarkComing()) return true;
    if (!long_.empty()) return ScanLong(), true;
    return false;
  }

  void MarkAll() {
    while (Step()) {
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

  // The number of cache misses that a core can have in flight.
  static constexpr size_t kComing = 8;
  // Steps between two looks at the clock; a look takes as long as a step or two.
  static constexpr uint32_t kStepsPerLook = 64;
  // This many words count as a step: a cache miss each, in the worst case.
  static constexpr uint64_t kWordsPerStep = 16;
  // Objects with more words are visited in pieces.
  static constexpr uint64_t kLongWords = 256;

  struct LongObject {
    Object* object;
    uint64_t next;  // the word
  };

  Spaces& spaces_;
  Object* coming_[kComing] = {};
  size_t next_coming_ = 0;
  MarkStack stack_;
  Vector<Object*> roots_;    // found, and not marked
  Vector<LongObject> long_;  // marked, and partly looked at
  // A small fixed stack.  Without it a linked list would need a scan of the heap for each of its
  // cells.
  static constexpr size_t kReserved = 64;
  Object* reserved_[kReserved];
  size_t n_reserved_ = 0;
  Object* ephemerons_ = nullptr;
  uint64_t marked_words_ = 0;
  uint64_t marked_young_words_ = 0;
  uint32_t steps_ = 0;
  bool overflowed_ = false;
  bool follows_ephemerons_ = false;
  bool has_missed_ = false;
  WaitingEphemerons waiting_;
};

using SliceMarker = Marker<MarkMode::kInSlices>;

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARKER_H_
