// Moves the young objects that survive a minor collection: one thread alone, or several at once.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_EVACUATION_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_EVACUATION_H_

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/internal/collect/card_locks.h"
#include "runtime/internal/collect/shared_work.h"
#include "runtime/internal/collect/spaces.h"
#include "runtime/internal/object/ephemeron_pairs.h"
#include "runtime/internal/space/window.h"
#include "runtime/internal/tables/waiting_ephemerons.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

// Above this many words a call of memcpy is faster.
inline constexpr uint64_t kFewWords = 12;

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

// The rest of the header of an object that has been moved.
inline Object* ForwardedTo(uintptr_t header) {
  return reinterpret_cast<Object*>(header & ~kHeaderBits);
}

// Returns the present address of the object; nullptr if it is young, does not stay and has not been
// moved so far.  Not while several threads move objects.
inline Object* Survivor(Object* object) {
  if (!IsYoung(object)) return object;
  const uintptr_t header = HeaderOf(object);
  if ((header & kForwardedBit) != 0) return ForwardedTo(header);
  return (header & kStaysBit) != 0 ? object : nullptr;
}

// Returns where the pair is now: in an ephemeron, which begins with its pair, or in a table, which
// does not move.  nullptr like Survivor().
inline EphemeronPair* SurvivingPair(EphemeronPair* original) {
  return reinterpret_cast<EphemeronPair*>(Survivor(reinterpret_cast<Object*>(original)));
}

// The result of one thread of a parallel collection.
struct EvacuationResult {
  uint64_t moved_words = 0;
  Vector<Slot*> stays;        // slots of old objects that point to objects that stay
  bool misses_slots = false;  // there was no memory for some; their objects got tenure
};

// The state that a thread of a parallel collection needs.  One thread alone has no such state.
template <bool kParallel>
struct Sharing {};
template <>
struct Sharing<true> {
  CardLocks& cards;
  SharedWork& work;
  BlockSpace::Lane lane;
  size_t n_lane;
  size_t card = CardLocks::kNoCard;  // this thread has its lock
  bool misses_slots = false;
  Vector<Slot*> stays = {};
};

// Moves young objects.  Copies whose references are not yet visited are linked through the first
// word of the dead original, so the stack needs no memory and cannot overflow.  The order is last
// in, first out, which keeps parents and children close.
//
// kParallel: several threads do this at the same time, each with an Evacuation of its own.
// inv.evacuate.card: a thread that moves an object holds the lock of the card in which it begins.
// A thread keeps its lock until it meets an object of another card that is to be moved, since
// neighbours mostly are met together: an atomic exchange for each object takes half as long again
// as a collection by one thread.  It holds one lock at most and none while it waits, so there is no
// deadlock.
//
// Memory order: the contents of young objects were written before the world was stopped, and the
// team's mutex comes between.  The new address in a header is released and acquired, so a thread
// that meets it without the lock has all that the mover wrote.  A copy is scanned by its mover, or
// by the thread to which SharedWork hands it, under a mutex.
template <bool kParallel>
class Evacuation {
 public:
  explicit Evacuation(Spaces& spaces) : spaces_(spaces), sharing_{} { static_assert(!kParallel); }
  // `lane` of the old space is this thread's until Finish().
  Evacuation(Spaces& spaces, CardLocks& cards, SharedWork& shared, size_t lane)
      : spaces_(spaces), sharing_{cards, shared, spaces.blocks.TakeLane(lane), lane} {
    static_assert(kParallel);
  }

  // Two threads may visit the same slot, which two logs may have: both store the same address.
  static Object* Load(Slot& slot) {
    return kParallel ? __atomic_load_n(&slot, __ATOMIC_RELAXED) : slot;
  }
  static uintptr_t LoadHeader(Object* object) {
    return kParallel ? __atomic_load_n(&HeaderOf(object), __ATOMIC_ACQUIRE) : HeaderOf(object);
  }

  static void StoreHeader(Object* object, uintptr_t header) {
    if constexpr (kParallel) {
      __atomic_store_n(&HeaderOf(object), header, __ATOMIC_RELEASE);
    } else {
      HeaderOf(object) = header;
    }
  }

  // Visits a root, or a slot of an object that stays.
  void Visit(Slot& slot) {
    Object* const object = Load(slot);
    if (IsYoung(object)) VisitYoung(slot, object);
  }
  // A slot of an object of the old space.
  __attribute__((always_inline)) void VisitOld(Slot& slot) {
    Object* const object = Load(slot);
    if (IsYoung(object) && VisitYoung(slot, object)) RememberStay(slot, object);
  }

  void Drain() {
    for (uint32_t step = 1; pending_ != nullptr; ++step) {
      if constexpr (kParallel) {
        if (step % kStepsPerOffer == 0 && sharing_.work.WantsOffer()) Offer();
      }
      Object* original = pending_;
      pending_ = *SlotsOf(original);
      Object* copy = ForwardedTo(HeaderOf(original));
      ForEachSlot(TypeOf(HeaderOf(copy)), copy, [this](Slot& slot) { VisitOld(slot); });
    }
  }

  // --- kParallel.

  // Takes copies that other threads offer, until no thread has any.  Call without pending copies.
  void DrainShared() {
    for (;;) {
      LetCardGo();
      pending_ = static_cast<Object*>(sharing_.work.Take());
      if (pending_ == nullptr) return;
      Drain();
    }
  }
  // Called by each thread for itself when the work is done.
  EvacuationResult Finish() {
    spaces_.blocks.PutLane(sharing_.n_lane, sharing_.lane);
    return {moved_words_, std::move(sharing_.stays), sharing_.misses_slots};
  }

  // --- Not kParallel: ephemerons.

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

 private:
  // Whether the object stays.
  __attribute__((always_inline)) bool VisitYoung(Slot& slot, Object* object) {
    if constexpr (kParallel) return VisitShared(slot, object);
    const uintptr_t header = HeaderOf(object);
    if (__builtin_expect((header & (kForwardedBit | kStaysBit | kAwaitedBit)) == 0, 1)) {
      slot = Move(object, header);
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

  __attribute__((always_inline)) bool VisitShared(Slot& slot, Object* object) {
    uintptr_t header = LoadHeader(object);
    if ((header & (kForwardedBit | kStaysBit)) == 0 && CardLocks::Of(object) != sharing_.card) {
      HoldCardOf(object);
      header = LoadHeader(object);
    }
    Object* moved = nullptr;
    if (__builtin_expect((header & (kForwardedBit | kStaysBit)) == 0, 1)) {
      ALLOMON_DCHECK_EQ("inv.evacuate.card", CardLocks::Of(object), sharing_.card);
      moved = Move(object, header);
    } else {
      if ((header & kForwardedBit) == 0) return true;
      moved = ForwardedTo(header);
    }
    __atomic_store_n(&slot, moved, __ATOMIC_RELAXED);
    return false;
  }

  __attribute__((noinline)) void HoldCardOf(const Object* object) {
    LetCardGo();
    const size_t card = CardLocks::Of(object);
    sharing_.cards.Lock(card);
    sharing_.card = card;
  }

  void LetCardGo() {
    if (sharing_.card != CardLocks::kNoCard)
      sharing_.cards.Unlock(std::exchange(sharing_.card, CardLocks::kNoCard));
  }

  void RememberStay(Slot& slot, [[maybe_unused]] Object* object) {
    if constexpr (kParallel) {
      if (TryPush(sharing_.stays, &slot)) return;
      // As Remember() does without memory: the object is old from now on.
      __atomic_fetch_or(&HeaderOf(object), kStaysBit | kTenuredBit, __ATOMIC_RELAXED);
      sharing_.misses_slots = true;
    } else {
      Remember(spaces_, slot);
    }
  }

  // Offers the older half of the pending copies.
  __attribute__((noinline)) void Offer() {
    Object* last_kept = pending_;
    for (Object* ahead = *SlotsOf(pending_); ahead != nullptr; ahead = *SlotsOf(ahead)) {
      ahead = *SlotsOf(ahead);
      if (ahead == nullptr) break;
      last_kept = *SlotsOf(last_kept);
    }
    Object* const offered = *SlotsOf(last_kept);
    if (offered != nullptr && sharing_.work.Offer(offered)) *SlotsOf(last_kept) = nullptr;
  }

  bool VisitOnePair(EphemeronPair* original) {
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

  void Await(Object* object, EphemeronPair* pair) {
    if (waiting_->pairs.Add(object, pair)) HeaderOf(object) |= kAwaitedBit;
  }

  // Without memory the next pass over the pairs finds what has become ready.
  __attribute__((noinline)) Object* MoveAwaited(Object* object) {
    HeaderOf(object) &= ~kAwaitedBit;
    Object* const copy = Move(object, HeaderOf(object));
    waiting_->pairs.Take(
        object, [this](EphemeronPair* pair) { static_cast<void>(TryPush(waiting_->ready, pair)); });
    return copy;
  }

  char* AllocateOld(size_t bytes) {
    if constexpr (kParallel) return spaces_.blocks.AllocateShared(sharing_.lane, bytes);
    return spaces_.blocks.Allocate(bytes);
  }

  Object* Move(Object* object, uintptr_t header) {
    const TypeInfo& type = TypeOf(header);
    const uint64_t words = SizeWords(type, object) + 1;
    Word* to = reinterpret_cast<Word*>(AllocateOld(words * kWordBytes));
    Object* copy = reinterpret_cast<Object*>(to + 1);
    moved_words_ += words;
    const uintptr_t forwarded = reinterpret_cast<uintptr_t>(copy) | kForwardedBit;
    CopyWords(to, &HeaderOf(object), words);
    StoreHeader(object, forwarded);
    if (HasReferences(type)) {
      *SlotsOf(object) = pending_;
      pending_ = object;
    }
    return copy;
  }

  // An ephemeron waits for the object.  The bit means something else in objects that stay only.
  static constexpr uintptr_t kAwaitedBit = kTenuredBit;
  static constexpr uint32_t kStepsPerOffer = 32;

  Spaces& spaces_;
  Object* pending_ = nullptr;
  uint64_t moved_words_ = 0;
  struct Waiting {
    WaitingEphemerons pairs;
    Vector<EphemeronPair*> ready;  // those that wait no longer
  };
  std::optional<Waiting> waiting_;

  Sharing<kParallel> sharing_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_EVACUATION_H_
