// Interned call stacks: equal stacks have equal ids, so an entry holds four bytes for a stack of
// any depth, and a client can count by id.
//
// Interned stacks live until the process ends, since a stack is likely to appear again.  Thread
// safe.  Finding a known stack takes no lock: hash, probe and compare take 20 ns at 8 frames.  A
// new stack takes the table's lock for the length of a chain or two; no thread ever rehashes.
// Never calls malloc, never throws.  In a signal handler only if the thread was not busy
// (inv.lock.tick).
#ifndef ALLOMON_TRACKER_CORE_STACK_TABLE_H_
#define ALLOMON_TRACKER_CORE_STACK_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tracker/base/chain_index.h"
#include "tracker/base/own_memory.h"
#include "tracker/core/ids.h"
#include "tracker/core/tick_safe_lock.h"

namespace allomon::internal {

struct StackView {
  const uintptr_t* frames = nullptr;  // innermost first; valid for ever
  uint32_t depth = 0;
  bool cut = false;  // frames beyond the capture limit were left out
};

struct InternedStack {
  StackId id = 0;
  StackView view;
};

// Compares frames while RenameFrames() may change them: each word is read before or after the
// change.
inline bool SameFrames(const uintptr_t* a, const uintptr_t* b, size_t depth) {
#if defined(__SANITIZE_THREAD__)
  for (size_t i = 0; i < depth; ++i) {
    if (__atomic_load_n(&a[i], __ATOMIC_RELAXED) != __atomic_load_n(&b[i], __ATOMIC_RELAXED)) {
      return false;
    }
  }
  return true;
#else
  return memcmp(a, b, depth * sizeof(uintptr_t)) == 0;
#endif
}

// A stack to be looked for, hashed.
struct StackKey {
  StackKey(const uintptr_t* frames, uint32_t depth, bool cut);

  const uintptr_t* frames;
  uint32_t depth_and_cut;  // depth * 2 + cut
  uint32_t hash;
};

class StackTable {
 public:
  StackId Intern(const uintptr_t* frames, uint32_t depth, bool cut) {
    const StackKey key(frames, depth, cut);
    const InternedStack known = Find(key);
    return known.id != 0 ? known.id : Insert(key).id;
  }
  // Finds a known stack, or returns an id of 0.  Takes no lock.
  InternedStack Find(const StackKey& key) const;
  // Adds a stack that Find() did not find.  Returns an id of 0 if memory is short, and for no
  // frames.
  InternedStack Insert(const StackKey& key);
  StackView View(StackId id) const;

  // Adds `by` to all frames in [begin, end] of the stacks [first, end_id): the code at these
  // addresses was unloaded, and may be replaced by other code.  Changes frames in place, so the
  // holder of a StackView sees the new frames.  A renamed stack is not found any more, because such
  // frames are never captured.  Cost: 1 ns a frame.
  void RenameFrames(StackId first, StackId end_id, uintptr_t begin, uintptr_t end, uintptr_t by);

  uint32_t size() const { return next_id_.load(std::memory_order_acquire) - 1; }

  // Taken around fork, so that the child never inherits a held lock.
  TickSafeLock& lock() ALLOMON_RETURNS_LOCK(lock_) { return lock_; }

 private:
  struct Record {
    StackId id;
    uint32_t depth_and_cut;
    uint32_t hash;
    std::atomic<uint32_t> next;  // of its chain
    uintptr_t frames[1];
  };
  // A record's number in the index is its place in the arena.
  struct Links {
    const BumpArena* arena;
    std::atomic<uint32_t>& Next(BumpArena::Ref ref) const { return At(ref)->next; }
    uint64_t HashOf(BumpArena::Ref ref) const { return At(ref)->hash; }
    Record* At(BumpArena::Ref ref) const { return static_cast<Record*>(arena->At(ref)); }
  };
  static constexpr uint32_t kMostStacks = uint32_t{1} << 24;

  Links links() const { return {&arena_}; }
  // Returns nullptr if it is not there.
  const Record* FindRecord(const StackKey& key) const;
  // nullptr without memory.
  const Record* AddRecordLocked(const StackKey& key) ALLOMON_REQUIRES(lock_);
  void RenameFramesOf(StackId id, uintptr_t begin, uintptr_t end, uintptr_t by)
      ALLOMON_REQUIRES(lock_);

  std::atomic<uint32_t> next_id_{1};
  ChainIndex<kMostStacks> index_;
  BumpArena arena_;
  // id -> record
  SegmentedArray<std::atomic<uint32_t>, 16384, kMostStacks / 16384> refs_;
  TickSafeLock lock_;
};

// The table of the process.
extern StackTable stack_table;
inline StackTable& Stacks() { return stack_table; }

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_STACK_TABLE_H_
