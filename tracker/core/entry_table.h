// One entry per (sampled block, session that follows it): 56 bytes, in own memory.
//
// "Entries" in tracker/README.md has the rules of an entry's life: inv.entry.life, .owner, .once,
// .session and .use.
#ifndef ALLOMON_TRACKER_CORE_ENTRY_TABLE_H_
#define ALLOMON_TRACKER_CORE_ENTRY_TABLE_H_

#include <atomic>
#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/base/check.h"
#include "tracker/base/own_memory.h"
#include "tracker/base/tagged_free_list.h"
#include "tracker/core/ids.h"
#include "tracker/core/session_client.h"
#include "tracker/core/type_names.h"

namespace allomon::internal {

using EntryId = uint32_t;  // 0 is "none"

enum class EntryState : uint8_t {
  kFree,
  kAllocating,  // the alloc callback has not returned
  kLiveMinor,
  kLiveMajor,
  kRunning,    // promote or dealloc runs, or discard destroys the value
  kForgotten,  // no value any more, but the block still lives
  kAbandoned,  // running for discard, and the block has died meanwhile
};

// The permitted changes of state.
constexpr bool MayBecome(EntryState from, EntryState to) {
  switch (from) {
    case EntryState::kFree:
      return to == EntryState::kAllocating;
    case EntryState::kAllocating:  // the callback kept the block, or did not
      return to == EntryState::kLiveMinor || to == EntryState::kLiveMajor ||
             to == EntryState::kFree;
    case EntryState::kLiveMinor:
    case EntryState::kLiveMajor:
      // Live entries are forgotten at once only in the child of a fork, by ReleaseUnconsumed().
      return to == EntryState::kRunning || to == EntryState::kForgotten;
    case EntryState::kRunning:  // promote kept the block; the block died; discard; both
      return to == EntryState::kLiveMajor || to == EntryState::kFree ||
             to == EntryState::kForgotten || to == EntryState::kAbandoned;
    case EntryState::kForgotten:
    case EntryState::kAbandoned:
      return to == EntryState::kFree;
  }
  return false;
}

// Session, use and state in one word.
struct EntryLife {
  SessionId session = 0;
  EntryState state = EntryState::kFree;
  uint32_t use = 0;  // 24 bits, which wrap

  uint64_t Pack() const {
    return uint64_t{session} << 32 | uint64_t{use & 0xffffff} << 8 | static_cast<uint64_t>(state);
  }
  static EntryLife Unpack(uint64_t word) {
    return {static_cast<SessionId>(word >> 32), static_cast<EntryState>(word & 0xff),
            static_cast<uint32_t>(word >> 8 & 0xffffff)};
  }
  static uint64_t WithState(uint64_t word, EntryState state) {
    return (word & ~uint64_t{0xff}) | static_cast<uint64_t>(state);
  }
  bool live() const { return state == EntryState::kLiveMinor || state == EntryState::kLiveMajor; }
};

struct Entry {
  std::atomic<uint64_t> life;  // an EntryLife
  // Next entry of the same block (several trackers), of a thread's postponed deallocs, or of the
  // free list.  An entry is in one of these at a time.
  std::atomic<EntryId> next;
  // Written while the entry is kAllocating.  Atomic because a snapshot may read an entry that is
  // being reused; it then discards the fields that it read.
  std::atomic<StackId> stack;
  std::atomic<AllocationSource> source;
  std::atomic<bool> is_mapped;
  std::atomic<TypeNameId> type;
  std::atomic<LabelSetId> labels;
  std::atomic<uint64_t> size_bytes;
  std::atomic<uint64_t> n_samples;
  ValueRoom value;

  // Acquire pairs with the release in SetState() and FinishForgetting().
  EntryLife Life() const { return EntryLife::Unpack(life.load(std::memory_order_acquire)); }
  // Begins a new use of the entry.
  void Begin(SessionId session);
  // Changes the state of a use.  Release pairs with the acquire in TakeLive(): the thread that
  // takes the value sees it whole.
  void SetState(EntryState state);
  // Takes the right to consume the value, if the entry is live and of that session
  // (inv.entry.once).  Returns the state in which it was live, or kForgotten.
  EntryState TakeLive(SessionId session);

  // Called by an owner that wants to release the entry and could not take its value.  Returns true
  // if discard has the value; discard then releases the entry once the value is destroyed.
  bool Abandon();
  // Called by discard after the value is destroyed.  Returns true if discard must release the
  // entry.
  bool FinishForgetting();

 private:
  // An entry that was never used joins the free entries of the thread that made it.
  static void CheckChange([[maybe_unused]] uint64_t from, [[maybe_unused]] EntryState to) {
    ALLOMON_DCHECK("inv.entry.life", from == 0 || MayBecome(EntryLife::Unpack(from).state, to));
  }
};
inline void Entry::Begin(SessionId session) {
  const EntryLife before = EntryLife::Unpack(life.load(std::memory_order_relaxed));
  const EntryLife begun{session, EntryState::kAllocating, before.use + 1};
  CheckChange(before.Pack(), begun.state);
  ALLOMON_DCHECK_NE("inv.entry.use", EntryLife::Unpack(begun.Pack()).use, before.use);
  life.store(begun.Pack(), std::memory_order_relaxed);
  // Orders the life before the fields of this use.  Pairs with the fence of readers.
  std::atomic_thread_fence(std::memory_order_release);
}

inline void Entry::SetState(EntryState state) {
  const uint64_t was = life.load(std::memory_order_relaxed);
  CheckChange(was, state);
  life.store(EntryLife::WithState(was, state), std::memory_order_release);
}

// Acquire pairs with the release in SetState().  That of the load or that of the exchange suffices;
// a failure hands nothing over.
inline EntryState Entry::TakeLive(SessionId session) {
  uint64_t word = life.load(std::memory_order_acquire);
  EntryLife was = EntryLife::Unpack(word);
  while (was.live() && was.session == session) {
    const uint64_t running = EntryLife::WithState(word, EntryState::kRunning);
    if (life.compare_exchange_weak(word, running, std::memory_order_acquire)) return was.state;
    was = EntryLife::Unpack(word);
  }
  return EntryState::kForgotten;
}

// A live sample takes 60 bytes, with the four that a heap keeps.  Entries of a cache line each were
// no faster when measured.
static_assert(sizeof(Entry) == 56, "the budget of a live sample");

inline constexpr uint32_t kEntriesOfSegment = 4096;
using EntryArray = SegmentedArray<Entry, kEntriesOfSegment, 4096>;  // 16 million

// Free entries are linked through Entry::next.
class EntryLinks {
 public:
  static constexpr EntryId kNone = 0;

  explicit EntryLinks(const EntryArray& entries) : entries_(entries) {}
  EntryId Next(EntryId id) const { return entries_.At(id).next.load(std::memory_order_relaxed); }
  void SetNext(EntryId id, EntryId next) const {
    entries_.At(id).next.store(next, std::memory_order_relaxed);
  }

 private:
  const EntryArray& entries_;
};

// A thread keeps up to 64 free entries for itself, 4 KiB.  If there are more, half are released to
// the table at once.
inline constexpr uint32_t kCachedEntries = 64;
using EntryCache = ThreadFreeCache<EntryLinks, 1, kCachedEntries>;

// Thread safe, lock free, async-signal-safe.
class EntryTable {
 public:
  // Returns 0 if own memory is exhausted.  The entry's fields are those of its last use.  The
  // version without a cache is for a thread that cannot return the cache when it ends.
  EntryId Allocate();
  EntryId Allocate(EntryCache& cache);
  void Release(EntryId id);
  void Release(EntryId id, EntryCache& cache);
  // Gives all back: the thread ends.
  void Empty(EntryCache& cache);
  Entry& At(EntryId id) { return entries_.At(id); }

  // Ids ever handed out are in [1, end()).  Acquire pairs with the release in AllocateFresh():
  // their segments are mapped.
  EntryId end() const { return next_id_.load(std::memory_order_acquire); }

 private:
  EntryId AllocateSlow(EntryCache& cache);
  // Returns the first of `count` consecutive entries, or 0.
  EntryId AllocateFresh(uint32_t count);
  void PushFree(EntryId id);
  void ReleaseSlow(EntryId id, EntryCache& cache);
  EntryLinks Links() const { return EntryLinks(entries_); }

  EntryArray entries_;  // the first member: process_map::Entries
  TaggedFreeList<EntryLinks> free_;
  std::atomic<EntryId> next_id_{1};
};

// The table of the process.
extern EntryTable entry_table;
inline EntryTable& Entries() { return entry_table; }

inline EntryId EntryTable::Allocate(EntryCache& cache) {
  const EntryId id = cache.Pop(Links(), 0);
  return __builtin_expect(id != 0, 1) ? id : AllocateSlow(cache);
}

__attribute__((always_inline)) inline void EntryTable::Release(EntryId id, EntryCache& cache) {
  At(id).SetState(EntryState::kFree);
  if (!cache.Push(Links(), 0, id)) ReleaseSlow(id, cache);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_ENTRY_TABLE_H_
