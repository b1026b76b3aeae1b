// The life of an entry: created for an alloc callback, promoted, consumed by dealloc or by discard.
// See "Entries" in tracker/README.md.
#ifndef ALLOMON_TRACKER_CORE_ENTRIES_H_
#define ALLOMON_TRACKER_CORE_ENTRIES_H_

#include "tracker/core/barrier.h"
#include "tracker/core/entry_table.h"
#include "tracker/core/session.h"
#include "tracker/core/stack_table.h"
#include "tracker/core/thread_state.h"

namespace allomon::internal {

// Takes a free entry from the thread's own free entries if it has any.
inline EntryId AllocateEntry(ThreadState& thread) {
  return __builtin_expect(thread.in_registry(), 1) ? entry_table.Allocate(thread.free_entries)
                                                   : entry_table.Allocate();
}
__attribute__((always_inline)) inline void ReleaseEntry(EntryId id) {
  ThreadState& thread = CurrentThread();
  if (__builtin_expect(thread.in_registry(), 1)) {
    entry_table.Release(id, thread.free_entries);
  } else {
    entry_table.Release(id);
  }
}

// Releases an entry at the end of a scope unless it was kept.
class ScopedEntry {
 public:
  explicit ScopedEntry(EntryId id) : id_(id) {}
  __attribute__((always_inline)) ~ScopedEntry() {
    if (id_ != 0) ReleaseEntry(id_);
  }
  ScopedEntry(const ScopedEntry&) = delete;
  ScopedEntry& operator=(const ScopedEntry&) = delete;

  EntryId Keep() {
    const EntryId id = id_;
    id_ = 0;
    return id;
  }

 private:
  EntryId id_;
};

// The callers of the next two have opened a CallbackScope.

// Runs promote.  Returns false if the entry is no longer followed; it is then released.
bool PromoteEntry(EntryId id);

// Runs dealloc if the entry is still live, and releases it.
void DeallocEntry(EntryId id);

// Ends kAllocating or kRunning: the entry has a value, which dealloc or discard may take.
inline void MakeLive(Session& session, Entry& entry, EntryId id, EntryState state);

// Shrinks the block of this chain of entries, as when a part of a mapping is unmapped: `words` of
// its `words_before` are left, which are `size_bytes`.  Each hit is a random word of the block, so
// hits in the removed part are dropped.  Estimates then see a block that was sampled with only the
// remaining words.
//
// Returns the chain of entries without hits, for the caller to dealloc; *head becomes the chain of
// the others.  Only the chain's owner calls it.  Cost: a random number per hit.
EntryId ShrinkBlock(EntryId* head, uint64_t words_before, uint64_t words, uint64_t size_bytes,
                    RandomBits& bits);

// Destroys the value of one entry of a discarded session, if it still has one.
void ForgetEntry(Session& session, EntryId id);

// The innermost `callstack_size` frames of an interned stack.
inline Callstack CallstackOf(StackId stack, const StackView& view, uint32_t callstack_size) {
  if (callstack_size == 0 || stack == 0) return {};
  const bool cut = view.cut || view.depth > callstack_size;
  return Callstack(stack, view.frames, view.depth < callstack_size ? view.depth : callstack_size,
                   cut);
}

// Returns the block of an entry in the form that a tracker with that configuration gets.
Allocation AllocationOf(const Entry& entry, const Session::Config& config);

// Passes the value of every live entry of a stopped session to its client.  The caller has pinned
// the session.  Cost: as ForgetEntriesOf().
void SurviveEntriesOf(Session& session);

// Calls visit(allocation) for every live entry of that session.  Other threads go on allocating and
// freeing: a block that lives throughout is visited once, a block that is born or dies meanwhile at
// most once.  Cost: 5 ns for each entry ever used.
template <typename Visit>
void ForEachLive(Session& session, Visit visit);

// Destroys the values of all entries of a discarded session, which the caller has pinned.  Cost:
// one pass over all entries ever used.
void ForgetEntriesOf(Session& session);

inline void MakeLive(Session& session, Entry& entry, EntryId id, EntryState state) {
  ALLOMON_DCHECK_EQ("inv.entry.session", entry.Life().session, session.id());
  entry.SetState(state);
  // Discard may have passed this entry before it was live.  Pairs with the barrier in
  // ForgetEntriesOf(): either this thread sees the discard here, or discard sees the live entry.
  LightBarrier();
  if (__builtin_expect(session.status() == SessionStatus::kDiscarded, 0)) ForgetEntry(session, id);
}

template <typename Visit>
void ForEachLive(Session& session, Visit visit) {
  const EntryId end = Entries().end();
  for (EntryId id = 1; id < end; ++id) {
    const Entry& entry = Entries().At(id);
    const EntryLife life = entry.Life();
    if (!life.live() || life.session != session.id()) continue;
    const Allocation allocation = AllocationOf(entry, session.config());
    // Pairs with the fence in Entry::Begin(): a reader that sees fields of a later use also sees
    // its life.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (entry.Life().Pack() == life.Pack()) visit(allocation);
  }
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_ENTRIES_H_
