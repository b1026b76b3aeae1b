#include "runtime/weak_map.h"

#include <algorithm>
#include <new>

#include "runtime/identity.h"
#include "runtime/internal/collect/mutator.h"
#include "runtime/internal/object/check.h"
#include "runtime/internal/object/ephemeron_pairs.h"
#include "runtime/internal/object/value_word.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {
namespace {

constexpr uint32_t kLeastCapacity = 8;
// The number of an entry is below WeakEntry::kLast.
constexpr uint32_t kMostCapacity = uint32_t{1} << 31;

WeakEntries* TableOf(const WeakTableField& table) {
  return reinterpret_cast<WeakEntries*>(RawOf(table));
}

// The upper half of a hash that depends on all bits; not 0.
uint32_t HashOf(Object* key) { return static_cast<uint32_t>(IdentityHash(key) >> 32) | 1; }

// The lowest bit of each hash is set.
uint32_t FirstPlace(const WeakEntries& table, uint32_t hash) {
  return hash >> 1 & (table.capacity - 1);
}

// A quarter of the places at least was never used, so each search ends.
WeakEntry* Find(WeakEntries* table, Object* key) {
  if (table == nullptr || !PointsToObject(key)) return nullptr;
  WeakEntry* const entries = table->entries();
  for (uint32_t i = FirstPlace(*table, HashOf(key));; i = (i + 1) & (table->capacity - 1)) {
    if (entries[i].hash == 0) return nullptr;
    if (entries[i].pair.key == key) return &entries[i];
  }
}

bool HasRoom(const WeakEntries* table) {
  return table != nullptr && table->used < table->capacity / 4 * 3;
}

// The key has no entry so far.  The place of a pair that has gone is used again.
WeakEntry& TakePlace(WeakEntries& table, uint32_t hash) {
  ALLOMON_DCHECK("inv.map.room", HasRoom(&table));
  WeakEntry* const entries = table.entries();
  uint32_t i = FirstPlace(table, hash);
  while (entries[i].pair.key != nullptr) i = (i + 1) & (table.capacity - 1);
  if (entries[i].hash == 0) ++table.used;
  ++table.live;
  entries[i].hash = hash;
  return entries[i];
}

// Minor collections visit the young.
void NoteIfYoung(WeakEntries& table, WeakEntry& entry) {
  if (!IsYoung(entry.pair.key) && !IsYoung(entry.pair.value)) return;
  Vector<Object*>& weaks = CurrentMutator().weaks;
  if (table.recent == 0) weaks.push_back(reinterpret_cast<Object*>(&table));
  table.NoteRecent(entry);
}

// Whatever is set afterwards has room in the list of the thread.
void ReserveWeaks() {
  Vector<Object*>& weaks = CurrentMutator().weaks;
  if (weaks.size() == weaks.capacity()) weaks.reserve(weaks.size() * 2 + 64);
}

// At most half of the places are taken afterwards.
uint32_t CapacityFor(const WeakEntries* table) {
  const uint64_t wanted = table == nullptr ? 1 : uint64_t{table->live} + 1;
  uint64_t capacity = kLeastCapacity;
  while (capacity < wanted * 2) capacity *= 2;
  if (capacity > kMostCapacity) throw std::bad_alloc();
  return static_cast<uint32_t>(capacity);
}

WeakEntries* MakeTable(uint32_t capacity) {
  const uint64_t bytes = sizeof(WeakEntries) - kWordBytes + uint64_t{capacity} * sizeof(WeakEntry);
  Object* const object = MakeSettled(HeaderFor<WeakEntriesObject>(), bytes, BytesToWords(bytes));
  WeakEntriesOf(object).capacity = capacity;
  return &WeakEntriesOf(object);
}

// A marking in slices does not look at what was made since it began, so it is told what the new
// table refers to.  The old table is left empty: it may be listed still, and would keep its values.
void MoveEntries(WeakEntries& from, WeakEntries& to) {
  for (uint32_t i = 0; i < from.capacity; ++i) {
    WeakEntry& entry = from.entries()[i];
    if (entry.pair.key == nullptr) continue;
    WeakEntry& moved = TakePlace(to, entry.hash);
    moved.pair = {NoteRead(entry.pair.key), NoteRead(entry.pair.value)};
    entry.pair.Clear();
    NoteIfYoung(to, moved);
  }
  from.FilterRecent([](const EphemeronPair&) { return false; });
  from.live = 0;
}

// Other code may run when the table is made, and use this map.
void MakeRoomInWeakMap(WeakTableField& table) {
  while (!HasRoom(TableOf(table))) {
    const uint32_t capacity = CapacityFor(TableOf(table));
    WeakEntries* const larger = MakeTable(capacity);
    WeakEntries* const old = TableOf(table);
    if (HasRoom(old) || CapacityFor(old) > capacity) continue;
    ReserveWeaks();
    if (old != nullptr) MoveEntries(*old, *larger);
    table = LocalOf<WeakEntriesObject>(reinterpret_cast<Object*>(larger));
  }
}

}  // namespace

size_t CountWeakEntries(const WeakTableField& table) {
  const WeakEntries* const entries = TableOf(table);
  return entries == nullptr ? 0 : entries->live;
}

bool FindInWeakMap(const WeakTableField& table, Object* key, Object** value) {
  const WeakEntry* const entry = Find(TableOf(table), key);
  if (entry == nullptr) return false;
  *value = NoteRead(entry->pair.value);
  return true;
}

void SetInWeakMap(WeakTableField& table, Object* key, Object* value) {
  ALLOMON_GC_CHECK(PointsToObject(key),
                   "rule.weak: null or a number is no key of a WeakMap; ask is_reference() before");
  WeakEntry* entry = Find(TableOf(table), key);
  if (entry == nullptr) {
    const uint32_t hash = HashOf(key);
    MakeRoomInWeakMap(table);
    ReserveWeaks();
    entry = Find(TableOf(table), key);  // other code may have set it
    if (entry == nullptr) entry = &TakePlace(*TableOf(table), hash);
  } else {
    ReserveWeaks();
  }
  entry->pair = {key, value};
  NoteIfYoung(*TableOf(table), *entry);
}

bool EraseFromWeakMap(const WeakTableField& table, Object* key) {
  WeakEntry* const entry = Find(TableOf(table), key);
  if (entry == nullptr) return false;
  entry->pair.Clear();
  --TableOf(table)->live;
  return true;
}

Object* NextInWeakMap(const WeakTableField& table, size_t* place) {
  WeakEntries* const entries = TableOf(table);
  while (entries != nullptr && *place < entries->capacity) {
    Object* const key = entries->entries()[(*place)++].pair.key;
    if (key != nullptr) return NoteRead(key);
  }
  return nullptr;
}

Object* MakeWeakMap(uintptr_t header) {
  constexpr size_t kBytes = 2 * kWordBytes;
  char* start = TryAllocateYoung(kBytes);
  if (start == nullptr) start = AllocateYoungSlow(kBytes, header, ALLOMON_CALLER_FRAME());
  Object* const object = reinterpret_cast<Object*>(start + kWordBytes);
  *WordsOf(object) = 0;
  HeaderOf(object) = header;
  return object;
}

}  // namespace allomon::gc::internal
