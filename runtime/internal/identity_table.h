// The identity hashes of objects that were young when they were asked for.  An old object does not
// move: without an entry its hash is that of its address.
#ifndef ALLOMON_RUNTIME_INTERNAL_IDENTITY_TABLE_H_
#define ALLOMON_RUNTIME_INTERNAL_IDENTITY_TABLE_H_

#include <atomic>
#include <cstdint>

#include "runtime/internal/memory.h"
#include "runtime/internal/object.h"
#include "runtime/internal/young_range.h"

namespace allomon::gc::internal {

// Mixes all bits of a word into all bits of the hash.
constexpr uint64_t MixWord(uint64_t word) {
  word = (word ^ word >> 32) * 0xd6e8feb86659fd93;
  word = (word ^ word >> 32) * 0xd6e8feb86659fd93;
  return word ^ word >> 32;
}

// Hashes by address, without removal of single ones.
class AddressMap {
 public:
  struct Entry {
    Object* object;
    uint64_t hash;
  };

  size_t size() const { return entries_.size(); }
  // In the order in which they were added, while none was filtered out.
  const Entry& At(size_t place) const { return entries_[place]; }
  const Entry* Find(Object* object) const;
  // Makes room for so many entries; false without memory.
  [[nodiscard]] bool Reserve(size_t entries);
  // There is room.
  void Add(Entry entry);
  // Keeps the entries that `keep` tells to, which it may change.  Allocates nothing.
  template <typename Keep>
  void Filter(Keep keep) {
    size_t kept = 0;
    for (size_t i = 0; i < entries_.size(); ++i) {
      Entry entry = entries_[i];
      if (keep(entry)) entries_[kept++] = entry;
    }
    entries_.resize(kept);
    Rebuild();
  }

 private:
  size_t PlaceOf(Object* object) const;
  void Rebuild();

  Vector<Entry> entries_;
  Vector<uint32_t> slots_;  // an entry's place plus one; 0: free.  A power of two, half of it free
};

// inv.identity.room: the old map has room for all young entries, so a collection does not allocate.
class IdentityTable {
 public:
  // The object's hash, which is made if need be; false without memory.
  [[nodiscard]] bool HashOf(Object* object, uint64_t* hash);
  // Without a lock: whether no object has an entry.
  bool empty() const { return n_entries_.load(std::memory_order_relaxed) == 0; }

  // Behind a minor collection: now(object) is the present address, nullptr of a dead object.
  template <typename Now>
  void AfterMinor(Now now) {
    if (young_.size() == 0) return;
    young_.Filter([&](AddressMap::Entry& entry) {
      entry.object = now(entry.object);
      if (entry.object != nullptr && !IsYoung(entry.object)) old_.Add(entry);
      return entry.object != nullptr && IsYoung(entry.object);
    });
    Count();
  }
  // Within a major collection, when all that lives is marked.
  template <typename IsMarked>
  void AfterMajor(IsMarked is_marked) {
    const auto lives = [&](const AddressMap::Entry& entry) { return is_marked(entry.object); };
    if (young_.size() != 0) young_.Filter(lives);
    if (old_.size() != 0) old_.Filter(lives);
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

#endif  // ALLOMON_RUNTIME_INTERNAL_IDENTITY_TABLE_H_
