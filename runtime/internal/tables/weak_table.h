// Actions for the death of an object: finalizers, releases of custom blocks.
//
// Actions that fall due run at safepoints, in order.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_WEAK_TABLE_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_WEAK_TABLE_H_

#include <functional>
#include <utility>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/space/young_range.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

// A finalizer runs once with the object, when only finalizers reach it.  The slot is a root until
// then.
struct Finalizer {
  Object* object;
  std::function<void(Object*)> run;
};

// Memory outside the heap that belongs to a managed object.
struct CustomBlockEntry {
  Object* object;
  void* data;
  uint64_t bytes;  // those of the block when it was made, or found dead
  void (*release)(void* data);

  // The block has its bytes in its second word (CustomBlock in custom.h), also when it is found
  // dead: its memory is not used again before.
  uint64_t bytes_now() const { return WordsOf(object)[1]; }
};

// Entries in [0, first_young) belong to objects outside of the young range.  The entries of dead
// objects wait in `due`, first in, first out.  inv.weak.room: `entries` has room for all reserved
// entries, and `due` has room for these and all entries, so neither Add() nor a collection
// allocates.
template <typename Entry>
struct WeakTable {
  Vector<Entry> entries;
  Vector<Entry> due;
  size_t due_head = 0;
  size_t first_young = 0;
  size_t reserved = 0;

  // Makes room for one entry, which Add() uses or Unreserve() releases.  Without memory returns
  // false and changes nothing.
  [[nodiscard]] bool Reserve() {
    if (due_head == due.size()) due.clear(), due_head = 0;
    const size_t wanted = entries.size() + reserved + 1;
    if (wanted > entries.capacity() && !TryReserve(entries, wanted * 2)) return false;
    const size_t wanted_due = due.size() + wanted;
    if (wanted_due > due.capacity() && !TryReserve(due, wanted_due * 2)) return false;
    ++reserved;
    return true;
  }
  void Unreserve() {
    ALLOMON_DCHECK_NE("inv.weak.room", reserved, 0u);
    --reserved;
  }

  void Add(Entry entry) {
    Unreserve();
    ALLOMON_DCHECK_LT("inv.weak.room", entries.size(), entries.capacity());
    entries.push_back(std::move(entry));
  }

  // Moves the entries from `begin` on for which is_dead(entry) to `due`.  Returns the number of
  // moved entries.
  template <typename IsDead>
  size_t MoveDead(size_t begin, IsDead is_dead) {
    size_t kept = begin;
    for (size_t i = begin; i < entries.size(); ++i) {
      if (is_dead(entries[i])) {
        ALLOMON_DCHECK_LT("inv.weak.room", due.size(), due.capacity());
        due.push_back(std::move(entries[i]));
      } else {
        if (kept != i) entries[kept] = std::move(entries[i]);
        ++kept;
      }
    }
    const size_t moved = entries.size() - kept;
    entries.resize(kept);
    FindFirstYoung(begin);
    return moved;
  }
  // No entry before `begin` is in the young range.
  void FindFirstYoung(size_t begin) {
    first_young = begin;
    while (first_young != entries.size() && !IsYoung(entries[first_young].object)) ++first_young;
  }

  bool any_due() const { return due_head != due.size(); }
  Entry TakeDue() { return std::move(due[due_head++]); }
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_WEAK_TABLE_H_
