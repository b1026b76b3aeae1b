// The pairs of ephemerons and WeakMaps that wait for an object to be found alive: for their key, or
// for the ephemeron itself.  So the end of a collection visits each of them a few times, in
// whatever order their keys are found; 20,000 in the adverse order took 1.0 and 3.1 s before.
//
// Used by one thread, while the world is stopped.  Calls no malloc.
#ifndef ALLOMON_RUNTIME_INTERNAL_TABLES_WAITING_EPHEMERONS_H_
#define ALLOMON_RUNTIME_INTERNAL_TABLES_WAITING_EPHEMERONS_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/internal/object/ephemeron_pairs.h"
#include "runtime/internal/space/memory.h"

namespace allomon::gc::internal {

class WaitingEphemerons {
 public:
  // Returns false without memory; then nothing has changed.  Constant on average.
  bool Add(Object* awaited, EphemeronPair* pair) {
    if (free_ == kNoEntry && entries_.size() == heads_.size() && !Grow()) return false;
    uint32_t index = free_;
    if (index == kNoEntry) {
      index = static_cast<uint32_t>(entries_.size());
      entries_.push_back({});  // Grow() has made the room
    } else {
      free_ = entries_[index].next;
    }
    uint32_t& head = heads_[HeadOf(awaited)];
    entries_[index] = {awaited, pair, head};
    head = index;
    return true;
  }

  // Removes the pairs that wait for the object, and calls visit(EphemeronPair*) for each.  `visit`
  // may add some.
  template <typename Visit>
  void Take(const Object* awaited, Visit visit) {
    if (heads_.empty()) return;
    uint32_t taken = kNoEntry;
    for (uint32_t* link = &heads_[HeadOf(awaited)]; *link != kNoEntry;) {
      Entry& entry = entries_[*link];
      if (entry.awaited != awaited) {
        link = &entry.next;
        continue;
      }
      const uint32_t index = std::exchange(*link, entry.next);
      entry.next = std::exchange(taken, index);
      entry.awaited = nullptr;
    }
    while (taken != kNoEntry) {
      Entry& entry = entries_[taken];
      EphemeronPair* const pair = entry.pair;
      const uint32_t index = std::exchange(taken, entry.next);
      entry.next = std::exchange(free_, index);
      visit(pair);
    }
  }

  void Clear() {
    entries_.clear();
    free_ = kNoEntry;
    std::fill(heads_.begin(), heads_.end(), kNoEntry);
  }

 private:
  struct Entry {
    Object* awaited;
    EphemeronPair* pair;
    uint32_t next;  // of the same head, or of the free entries
  };
  static constexpr uint32_t kNoEntry = UINT32_MAX;

  size_t HeadOf(const Object* object) const {
    // Fibonacci hashing: the upper bits of the product depend on all bits of the address.
    return (reinterpret_cast<uintptr_t>(object) * 0x9e3779b97f4a7c15u >> 32) & (heads_.size() - 1);
  }

  // The heads are as many as the entries may be: a power of two.
  bool Grow() {
    const size_t room = std::max<size_t>(64, heads_.size() * 2);
    if (room >= kNoEntry || !TryReserve(entries_, room) || !TryReserve(heads_, room)) return false;
    heads_.resize(room);
    std::fill(heads_.begin(), heads_.end(), kNoEntry);
    for (uint32_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].awaited == nullptr) continue;  // Take() is about to visit it
      uint32_t& head = heads_[HeadOf(entries_[i].awaited)];
      entries_[i].next = std::exchange(head, i);
    }
    return true;
  }

  Vector<uint32_t> heads_;
  Vector<Entry> entries_;
  uint32_t free_ = kNoEntry;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_TABLES_WAITING_EPHEMERONS_H_
