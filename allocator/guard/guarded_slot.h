// The record of one guarded block.  It lies outside the block, and is kept from the block's
// allocation until its slot is used again, so that an error report has all facts.
//
// The record is written by the thread that owns the slot (see GuardedSlot::State).  The report
// reads it, in a signal handler and concurrently with the owner.  In that case the report may print
// a line of the slot's next block, but does no other harm.
#ifndef ALLOMON_ALLOCATOR_GUARD_GUARDED_SLOT_H_
#define ALLOMON_ALLOCATOR_GUARD_GUARDED_SLOT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/host/entry_point.h"
#include "tracker/base/check.h"
#include "tracker/block_note.h"
#include "tracker/heap_client.h"

namespace allomon::internal {

// The thread and the call stack of an allocation or a free.
class BlockTrace {
 public:
  // With this number of frames a slot's record takes half a KiB.
  static constexpr size_t kMaxFrames = 24;

  void Clear() { depth_.store(0, std::memory_order_relaxed); }
  void Record(EntryPoint entry, const FrameState& caller);

  // Returns 0 if no trace is recorded, or one is being recorded.  If the depth is not 0, the other
  // fields are complete: acquire pairs with the release in Record().
  size_t depth() const { return depth_.load(std::memory_order_acquire); }
  const uintptr_t* frames() const { return frames_; }
  int32_t thread_id() const { return thread_id_; }
  EntryPoint entry() const { return entry_; }

 private:
  std::atomic<uint32_t> depth_;
  int32_t thread_id_;
  EntryPoint entry_;
  uintptr_t frames_[kMaxFrames];
};

struct GuardedSlot {
  // inv.guard.owner: the states follow each other as kUnused or kFreed -> kTaken -> kLive ->
  // kEnding -> kFreed, or from kTaken back to kUnused.  The thread that moved a slot to kTaken owns
  // it until kLive.  The thread that moved it from kLive to kEnding (the exchange has one winner)
  // owns it until kFreed.
  enum class State : uint8_t {
    kUnused,  // no block yet
    kTaken,   // allocated, but not yet returned by the allocator
    kLive,
    kEnding,  // its dealloc callbacks run
    kFreed,   // in quarantine, inaccessible
  };

  std::atomic<State> state;
  bool dirty;            // the page may hold data of its last block
  unsigned char filler;  // the byte that fills the page outside the block
  heap_client::BlockHandle handle;
  uint32_t size_bytes;  // as requested
  uintptr_t block;      // where it starts
  BlockTrace allocated;
  BlockTrace freed;
  BlockNote note;

  State Load() const { return state.load(std::memory_order_acquire); }
  // Called by the owner of a taken slot, after the block's fields are written.
  void BecomeLive();
  // Ends the block's life for its users.  Returns false if another thread has already ended it.
  bool BeginEnding();
  bool HasOrHadBlock() const { return Load() != State::kUnused; }
};

inline void GuardedSlot::BecomeLive() {
  ALLOMON_DCHECK("inv.guard.owner", Load() == State::kTaken);
  // Release pairs with the acquire in BeginEnding().
  state.store(State::kLive, std::memory_order_release);
}

inline bool GuardedSlot::BeginEnding() {
  State live = State::kLive;
  // Acquire pairs with the release in BecomeLive(): the fields are complete.
  return state.compare_exchange_strong(live, State::kEnding, std::memory_order_acquire);
}

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_GUARDED_SLOT_H_
