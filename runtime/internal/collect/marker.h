// Finds the reachable objects of the old space, depth first, with an explicit stack.
//
// An object is marked some visits after it was found, when the prefetch of its header has
// completed. When the stack cannot grow, objects are marked without being pushed, and a scan over
// the marked objects finds them again.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MARKER_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MARKER_H_

#include <algorithm>
#include <type_traits>
#include <utility>

#include "runtime/internal/collect/mark_share.h"
#include "runtime/internal/collect/mark_stack.h"
#include "runtime/internal/collect/spaces.h"
#include "runtime/internal/object/ephemeron_pairs.h"
#include "runtime/internal/object/value_word.h"
#include "runtime/internal/tables/waiting_ephemerons.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

enum class MarkMode { kWhole, kInSlices, kByTeam };

// MarkMode::kWhole marks everything in one pause, including young objects that stay; the nurseries
// hold no other objects. MarkMode::kInSlices marks while the program runs, on one thread at a time.
// It does not mark young objects; the cycle knows which of those that stay have been reached.
// MarkMode::kByTeam marks like kWhole, beside the markers of other threads (team_marking.h).
//
// Memory order of kByTeam: all that a marker reads was written before the team's job began, but for
// marks, and for headers that get tenure.  An atomic operation on the mark decides which member
// counts and scans an object, and nothing is read through it, so it is relaxed, like the header.
// What the members have found is read when the job has ended.  The team's mutex comes between in
// both places, and SharedWork's mutex where a member hands objects to another one.
template <MarkMode kMode>
class Marker {
  static constexpr bool kInSlices = kMode == MarkMode::kInSlices;
  static constexpr bool kByTeam = kMode == MarkMode::kByTeam;
  struct Nothing {};
  template <MarkMode>
  friend class Marker;

 public:
  Marker(Spaces& spaces, size_t stack_entries) : spaces_(spaces), stack_(stack_entries) {
    static_assert(!kByTeam);
  }
  Marker(Spaces& spaces, size_t stack_entries, SharedWork& work)
      : spaces_(spaces), stack_(stack_entries), share_(work) {
    static_assert(kByTeam);
  }
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

  // --- kByTeam.

  // Marks all that the objects which this member has visited reach, and all that others offer,
  // until no member has any work.
  void MarkBesideOthers() {
    MarkAll();
    while (void* const batch = share_.work.Take()) {
      TakeOver(*static_cast<MarkBatch*>(batch));
      MarkAll();
    }
    share_.sums.Flush();
  }

  // --- kWhole.

  // Adds the results of a member of a team, when all of them have ended.  Drain() follows, for the
  // objects that did not fit on the member's stack.
  void Adopt(Marker<MarkMode::kByTeam>& member) {
    ALLOMON_DCHECK("inv.mark.team.end", member.HasEnded());
    marked_words_ += member.marked_words_;
    marked_young_words_ += member.marked_young_words_;
    overflowed_ |= member.overflowed_;
    Object** link = &member.ephemerons_;
    while (*link != nullptr) link = &NextMarked(*link);
    *link = ephemerons_;
    ephemerons_ = member.ephemerons_;
    for (Slot* const slot : member.share_.young_slots) Remember(spaces_, *slot);
  }

  bool IsMarked(Object* object) const {
    if (IsYoung(object)) {
      return kInSlices ? spaces_.cycle.YoungLives(object) : spaces_.young.IsMarked(object);
    }
    if (gc::internal::IsLarge(HeaderOf(object))) return spaces_.large.IsMarked(object);
    return Chunk::Of(object)->IsMarked(object);
  }

  // Prefetches the words that IsMarked() reads.
  void PrefetchMark(Object* object) const {
    __builtin_prefetch(&HeaderOf(object));
    Chunk::Of(object)->PrefetchMarks(object);
  }

  // --- While ephemerons are followed, when all else is marked.  An object that becomes marked then
  // is looked for among the keys that are awaited.
  void BeginEphemerons() {
    waiting_.Clear();
    follows_ephemerons_ = true;
    has_missed_ = has_unwatched_ = false;
  }
  void EndEphemerons() { follows_ephemerons_ = false; }
  // Visits the value if the key is marked; else it is visited when that becomes marked.
  void VisitPair(EphemeronPair& pair) {
    if (IsMarked(pair.key)) return Visit(pair.value);
    Await(pair);
  }
  // Whether a pair was met for whose value there was no memory.
  bool has_missed() const { return has_missed_; }
  // Whether a pair was met that is not visited when its key becomes marked: there was no memory to
  // wait in, or the key is young and only reached.
  bool has_unwatched() const { return has_unwatched_; }

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
  static uintptr_t LoadHeader(Object* object) {
    return kByTeam ? __atomic_load_n(&HeaderOf(object), __ATOMIC_RELAXED) : HeaderOf(object);
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

  bool SetMarkedShared(Object* object, uintptr_t header, uint64_t words) {
    if (IsYoung(object)) {
      if (!spaces_.young.Of(object)->SetMarkedShared(object)) return false;
      marked_young_words_ += words + 1;
      return true;
    }
    if (gc::internal::IsLarge(header)) return spaces_.large.SetMarkedShared(object);
    if (!Chunk::Of(object)->SetMarkedShared(object)) return false;
    share_.sums.Add(object, words + 1);
    return true;
  }

  bool SetMarked(Object* object, uintptr_t header, uint64_t words) {
    if constexpr (kByTeam) return SetMarkedShared(object, header, words);
    if (!kInSlices && IsYoung(object)) return SetMarkedYoung(object, words);
    if (gc::internal::IsLarge(header)) return spaces_.large.SetMarked(object);
    Chunk* chunk = Chunk::Of(object);
    if (!chunk->SetMarked(object)) return false;
    chunk->CountLive(object, words + 1);
    return true;
  }

  void MarkObject(Object* object) {
    const uintptr_t header = LoadHeader(object);
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
    // A long object is visited in pieces, each with all that it reaches.  So the stack needs no
    // room for all elements of an array at once.  Without memory for the entry all slots are
    // visited in one step.
    if (words > kLongWords && TryPush(long_, {object, 0, words})) return;
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
      Await(pair);
    } else if (kInSlices && IsYoung(pair.value)) {
      Reach(pair.value);
    } else if (PointsToObject(pair.value)) {
      has_missed_ |= !TryPush(roots_, pair.value);
    }
  }

  void Await(EphemeronPair& pair) {
    has_unwatched_ |= !waiting_.Add(pair.key, &pair) || (kInSlices && IsYoung(pair.key));
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
    const TypeInfo& type = TypeOf(LoadHeader(object));
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
    } else if constexpr (kByTeam) {
      if (TryPush(share_.young_slots, &slot)) return;
      // No memory: like Remember() this makes the object old from now on.
      __atomic_fetch_or(&HeaderOf(slot), kStaysBit | kTenuredBit, __ATOMIC_RELAXED);
    } else if (spaces_.remembered.empty() || spaces_.remembered.back() != &slot) {
      Remember(spaces_, slot);
    }
  }

  // The next slots of a long object.
  void ScanLong() {
    LongObject& top = long_.back();
    Object* const object = top.object;
    const uint64_t from = top.next;
    const uint64_t to = std::min(from + kLongWords, top.end);
    top.next = to;
    steps_ += kLongWords / kWordsPerStep;
    if (to == top.end) long_.pop_back();
    const bool is_old = kInSlices || !IsYoung(object);
    ForEachSlotBetween(TypeOf(LoadHeader(object)), object, from, to,
                       [this, is_old](Slot& slot) { ScanSlot(slot, is_old); });
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
      if constexpr (kByTeam) {
        if (++steps_ < kStepsPerOffer) continue;
        steps_ = 0;
        if (share_.work.WantsOffer()) Offer();
      }
    }
  }

  // Offers half of the oldest long object, or else the older half of the stack.
  __attribute__((noinline)) void Offer() {
    for (MarkBatch& batch : share_.batches) {
      if (!batch.IsFree()) continue;
      batch.range = SplitOldest();
      batch.n_objects = 0;
      if (batch.range.object == nullptr)
        batch.n_objects = stack_.TakeOlderHalf(batch.objects, MarkBatch::kMostObjects);
      if (batch.range.object == nullptr && batch.n_objects == 0) return;
      batch.Occupy();
      // Others may have offered enough since the look at it.
      if (!share_.work.Offer(&batch)) TakeOver(batch);
      return;
    }
  }

  // Removes the second half of the rest of the oldest long object, if that is not short.
  LongObject SplitOldest() {
    if (long_.empty() || long_.front().end - long_.front().next < 2 * kLongWords) return {};
    LongObject& oldest = long_.front();
    const uint64_t middle = oldest.next + (oldest.end - oldest.next) / 2;
    return {oldest.object, middle, std::exchange(oldest.end, middle)};
  }

  void TakeOver(MarkBatch& batch) {
    // All slots of the range are visited at once if there is no memory for the entry.
    const LongObject range = batch.range;
    for (size_t i = 0; i < batch.n_objects; ++i) Push(batch.objects[i]);
    batch.Free();
    if (range.object == nullptr || TryPush(long_, range)) return;
    ForEachSlotBetween(TypeOf(LoadHeader(range.object)), range.object, range.next, range.end,
                       [this, &range](Slot& slot) { ScanSlot(slot, !IsYoung(range.object)); });
  }

  // Whether this member has no work left, and no other one reads its offers.
  bool HasEnded() const {
    const auto is_free = [](const MarkBatch& batch) { return batch.IsFree(); };
    return n_reserved_ == 0 && long_.empty() &&
           std::all_of(std::begin(coming_), std::end(coming_),
                       [](const Object* object) { return object == nullptr; }) &&
           std::all_of(std::begin(share_.batches), std::end(share_.batches), is_free);
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

  // Steps between two looks at what others want, of kByTeam.
  static constexpr uint32_t kStepsPerOffer = 32;

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
  bool has_unwatched_ = false;
  std::conditional_t<kByTeam, MarkShare, Nothing> share_;
  WaitingEphemerons waiting_;
};

using SliceMarker = Marker<MarkMode::kInSlices>;
using WholeMarker = Marker<MarkMode::kWhole>;
using TeamMarker = Marker<MarkMode::kByTeam>;

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARKER_H_
