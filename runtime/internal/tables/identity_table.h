// The identity hashes of objects that were young when their hash was first asked for.  An old
// object does not move: without an entry its hash is derived from its address.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_IDENTITY_TABLE_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_IDENTITY_TABLE_H_

#include <atomic>
#include <cstdint>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/space/young_range.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

// Mixes all bits of a word into all bits of the hash.
constexpr uint64_t MixWord(uint64_t word) {
  word = (word ^ word >> 32) * 0xd6e8feb86659fd93;
  word = (word ^ word >> 32) * 0xd6e8feb86659fd93;
  return word ^ word >> 32;
}

// Maps addresses to hashes.  Single entries cannot be removed.
class AddressMap {
 public:
  struct Entry {
    Object* object;
    uint64_t hash;
  };

  size_t size() const { return entries_.size(); }
  // Entries are in the order of insertion until Filter() removes some.
  const Entry& At(size_t place) const { return entries_[place]; }
  const Entry* Find(Object* object) const;
  // Makes room for `entries`; false without memory.
  [[nodiscard]] bool Reserve(size_t entries);
  // The caller has made room.
  void Add(Entry entry);
  // Keeps the entries for which keep(entry) is true.  `keep` may change an entry's object only if
  // it returns false (inv.identity.address).  ahead(object) is called some entries earlier.
  // Allocates nothing.
  template <typename Keep, typename Ahead>
  void Filter(Keep keep, Ahead ahead) {
    size_t kept = 0;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (i + kAhead < entries_.size()) ahead(entries_[i + kAhead].object);
      Entry entry = entries_[i];
      if (!keep(entry)) continue;
      ALLOMON_DCHECK_EQ("inv.identity.address", entry.object, entries_[i].object);
      entries_[kept++] = entry;
    }
    if (kept == entries_.size()) return;
    entries_.resize(kept);
    Rebuild();
  }

 private:
  static constexpr size_t kAhead = 12;  // as many misses as a core can have in flight

  size_t HomeOf(const Object* object) const;
  size_t PlaceOf(Object* object) const;
  void Rebuild();

  Vector<Entry> entries_;
  Vector<uint32_t> slots_;  // index of an entry plus one; 0: free.  The size is a power of two, at
                            // least half of it free
};

// inv.identity.room: the old map has room for all young entries, so a collection does not allocate.
class IdentityTable {
 public:
  // Returns the object's hash, which it makes at the first call; false without memory.
  [[nodiscard]] bool HashOf(Object* object, uint64_t* hash);
  // Whether no object has an entry.  Takes no lock.
  bool empty() const { return n_entries_.load(std::memory_order_relaxed) == 0; }

  // Called after a minor collection.  now(object) returns the present address, or nullptr for a
  // dead object.
  template <typename Now>
  void AfterMinor(Now now) {
    if (young_.size() == 0) return;
    young_.Filter(
        [&](AddressMap::Entry& entry) {
          entry.object = now(entry.object);
          if (entry.object != nullptr && !IsYoung(entry.object)) old_.Add(entry);
          return entry.object != nullptr && IsYoung(entry.object);
        },
        [](const Object*) {});
    Count();
  }
  // Called during a major collection, when all live objects are marked.  prefetch(object) comes
  // some calls before is_marked(object).
  template <typename IsMarked, typename Prefetch>
  void AfterMajor(IsMarked is_marked, Prefetch prefetch) {
    const auto lives = [&](const AddressMap::Entry& entry) { return is_marked(entry.object); };
    if (young_.size() != 0) young_.Filter(lives, prefetch);
    if (old_.size() != 0) old_.Filter(lives, prefetch);
    Count();
  }

 private:
  void Count() { n_entries_.store(young_.size() + old_.size(), std::memory_order_relaxed); }

  AddressMap young_;
  AddressMap old_;
  uint64_t n_given_ = 0;
  std::atomic<size_t> n_entries_{0};
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_IDENTITY_TABLE_H_
