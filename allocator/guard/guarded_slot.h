// What is known of one guarded block, beside it and never inside it: kept from the block's
// allocation until its slot is used again, so that the report of an error has it all.
//
// Written by whoever holds the slot (see GuardedSlot::State); read by the report, which may
// run in a signal handler and at the same time: then it may print a line of the slot's next
// block, and does no harm.
#ifndef ALLOMON_ALLOCATOR_GUARD_GUARDED_SLOT_H_
#define ALLOMON_ALLOCATOR_GUARD_GUARDED_SLOT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/entry_point.h"
#include "tracker/block_note.h"
#include "tracker/heap_client.h"

namespace allomon::internal {

// Who did something, and where.
class BlockTrace {
 public:
  // With kMaxFrames a slot's record is half a KiB.
  static constexpr size_t kMaxFrames = 24;

  void Clear() { depth_.store(0, std::memory_order_relaxed); }
  void Record(EntryPoint entry, const FrameState& caller);

  // 0: not recorded, or just being recorded.  Acquire pairs with the release in Record(): the
  // rest is whole.
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
  // inv.guard.owner: a slot is written by who moved it to kTaken (its allocator, alone) or
  // from kLive to kEnding (one of those who free it: the exchange has one winner).
  enum class State : uint8_t {
    kUnused,  // no block yet
    kTaken,   // a block that its allocator has not returned
    kLive,
    kEnding,  // its dealloc callbacks run
    kFreed,   // in quarantine, inaccessible
  };

  std::atomic<State> state;
  bool dirty;            // the page may hold what its last block left
  unsigned char filler;  // what the page holds outside the block
  heap_client::BlockHandle handle;
  uint32_t size_bytes;  // as requested
  uintptr_t block;      // where it starts
  BlockTrace allocated;
  BlockTrace freed;
  BlockNote note;

  State Load() const { return state.load(std::memory_order_acquire); }
  // Ends the block's life as far as users are concerned; false if another one has, or did.
  bool BeginEnding();
  bool HasOrHadBlock() const { return Load() != State::kUnused; }
};

inline bool GuardedSlot::BeginEnding() {
  State live = State::kLive;
  // Acquire pairs with the release that made it live: its fields are whole.
  return state.compare_exchange_strong(live, State::kEnding, std::memory_order_acquire);
}

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_GUARDED_SLOT_H_
