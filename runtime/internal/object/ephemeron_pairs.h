// Keys that are held weakly, with values that live as long as their keys: one pair in an Ephemeron,
// many in the entries of a WeakMap.
//
// Collectors read and clear pairs while the world is stopped; the owner's thread does otherwise.
#ifndef ALLOMON_RUNTIME_INTERNAL_OBJECT_EPHEMERON_PAIRS_H_
#define ALLOMON_RUNTIME_INTERNAL_OBJECT_EPHEMERON_PAIRS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/internal/object/object.h"

namespace allomon::gc::internal {

struct EphemeronPair {
  Slot key;  // nullptr: the pair is empty, and so is its value
  Slot value;

  void Clear() { key = value = nullptr; }
};

// The words of an Ephemeron.
struct EphemeronSlots {
  EphemeronPair pair;
  Object* next_marked;  // the collector's own, while it marks
};
inline EphemeronSlots& EphemeronOf(Object* object) {
  return *reinterpret_cast<EphemeronSlots*>(object);
}

// A place of a hash table with linear probing.
struct WeakEntry {
  EphemeronPair pair;
  uint32_t hash;  // 0: never used.  Another number without a key: left by a pair that has gone
  // 0: the entry is in no list; kLast: it is the last one of its list; else the next one's number,
  // which is its place plus one.
  uint32_t next_recent;
  static constexpr uint32_t kLast = UINT32_MAX;
};

// The words of a table of pairs, which is born old and does not move.  `recent` begins the list of
// the entries that minor collections visit.  A table with such entries is in the list of a thread
// or of the heap once; one without any may be there, too.
struct WeakEntries {
  uint64_t bytes;  // all that follows
  uint32_t live;   // entries with keys
  uint32_t used;   // entries whose hash is not 0
  Object* next_marked;
  uint32_t capacity;  // a power of two
  uint32_t recent;    // the number of the first one; 0 without any

  WeakEntry* entries() { return reinterpret_cast<WeakEntry*>(this + 1); }

  // Adds the entry to the list of recent ones, unless it is there.
  void NoteRecent(WeakEntry& entry) {
    if (entry.next_recent != 0) return;
    entry.next_recent = recent != 0 ? recent : WeakEntry::kLast;
    recent = static_cast<uint32_t>(&entry - entries()) + 1;
  }
  template <typename Visit>
  void ForEachRecent(Visit visit) {
    for (uint32_t number = recent; number != 0 && number != WeakEntry::kLast;) {
      WeakEntry& entry = entries()[number - 1];
      number = entry.next_recent;
      visit(entry.pair);
    }
  }
  // Keeps those for which keep(pair) is true.  Returns whether any is left.
  template <typename Keep>
  bool FilterRecent(Keep keep) {
    uint32_t next = recent;
    recent = 0;
    while (next != 0 && next != WeakEntry::kLast) {
      WeakEntry& entry = entries()[next - 1];
      next = entry.next_recent;
      entry.next_recent = 0;
      if (keep(entry.pair)) NoteRecent(entry);
    }
    return recent != 0;
  }
};
inline WeakEntries& WeakEntriesOf(Object* object) {
  return *reinterpret_cast<WeakEntries*>(object);
}

inline bool HasPairs(const TypeInfo& type) { return type.kind >= Kind::kEphemeron; }

// The link of an object with pairs, at the same place in both kinds.
inline Object*& NextMarked(Object* object) {
  static_assert(offsetof(WeakEntries, next_marked) == offsetof(EphemeronSlots, next_marked));
  return EphemeronOf(object).next_marked;
}

// Calls visit(EphemeronPair&) for the pairs of an object that have keys, and ahead(key) for a key
// some places before its turn.
template <typename Visit, typename Ahead>
void ForEachPair(Object* object, Visit visit, Ahead ahead) {
  constexpr uint32_t kPlacesAhead = 12;  // as many misses as a core can have in flight
  if (TypeOf(HeaderOf(object)).kind == Kind::kEphemeron) {
    EphemeronPair& pair = EphemeronOf(object).pair;
    if (pair.key != nullptr) visit(pair);
    return;
  }
  WeakEntries& table = WeakEntriesOf(object);
  for (uint32_t i = 0; i < table.capacity; ++i) {
    if (i + kPlacesAhead < table.capacity) {
      Object* const later = table.entries()[i + kPlacesAhead].pair.key;
      if (later != nullptr) ahead(later);
    }
    EphemeronPair& pair = table.entries()[i].pair;
    if (pair.key != nullptr) visit(pair);
  }
}
template <typename Visit>
void ForEachPair(Object* object, Visit visit) {
  ForEachPair(object, visit, [](Object*) {});
}

// Clears those for which is_dead(pair) is true.
template <typename IsDead, typename Ahead>
void ClearPairs(Object* object, IsDead is_dead, Ahead ahead) {
  uint32_t cleared = 0;
  const auto clear = [&](EphemeronPair& pair) {
    if (!is_dead(pair)) return;
    pair.Clear();
    ++cleared;
  };
  ForEachPair(object, clear, ahead);
  if (TypeOf(HeaderOf(object)).kind == Kind::kWeakEntries) WeakEntriesOf(object).live -= cleared;
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_OBJECT_EPHEMERON_PAIRS_H_
