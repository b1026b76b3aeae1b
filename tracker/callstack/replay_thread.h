// Each thread's ReplayRecord: its place, and the capture that may use it.
//
// A record is 16 KiB.  It is mapped after kWalkedCaptures captures of a thread, and passed on to
// another thread when that thread ends.  No malloc, no lock, async-signal-safe.  Cost: a few
// instructions; once per thread some microseconds.
#ifndef ALLOMON_TRACKER_CALLSTACK_REPLAY_THREAD_H_
#define ALLOMON_TRACKER_CALLSTACK_REPLAY_THREAD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/callstack/replay_record.h"

namespace allomon::internal {

struct ReplayThread;

struct ReplayBlock {
  // The value of replay_generation when `record` was made: see ForgetReplays.
  uint64_t generation;
  // Values of the last capture; its outcome has the number `serial`.
  uint64_t serial;
  size_t count;
  bool truncated;
  // A capture with the same start as the last one has its outcome if the stack still has this many
  // recorded states.  0: the record cannot tell.
  uint32_t decisive_states;
  uint32_t index;
  // While the block is free: the index + 1 of the next free block.
  std::atomic<uint32_t> next_free;
  // The thread that the block belongs to; null while it is free.
  const ReplayThread* owner;
  ReplayRecord record;
};

// Mapping a record and touching three of its pages takes 2 us, and it saves a capture 30 to 100 ns.
// A thread with fewer captures than this runs faster without a record, and so does a program with
// thousands of such threads.
inline constexpr uint8_t kWalkedCaptures = 32;

struct ReplayThread {
  ReplayBlock* block;
  // A capture of this thread is using the block.  Volatile but not atomic, because only signal
  // handlers on the same thread read it.
  volatile bool busy;
  uint8_t walked;  // captures without a record, up to kWalkedCaptures
  bool has_none;   // the thread has no block, and will not get one
};

// known_stacks has the reason for initial-exec and __thread.
extern __thread ReplayThread replay_thread __attribute__((tls_model("initial-exec")));

// Number of calls of ForgetReplays.
extern std::atomic<uint64_t> replay_generation;

// Invalidates all earlier records.  Call it after the rules were cleared: a capture that sees the
// new generation then finds no rules.
inline void ForgetReplays() {
  // Pairs with the acquire in OpenReplay.
  replay_generation.fetch_add(1, std::memory_order_release);
}

// Whether no rule has been forgotten since the record was made.
inline bool IsOfThisCode(const ReplayBlock& block) {
  return block.generation == replay_generation.load(std::memory_order_acquire);
}

// Gives the thread a block, unless this is its first capture.
ReplayBlock* OpenReplaySlow();

// Returns this thread's block for exclusive use until CloseReplay.  nullptr if the thread has no
// block, or if a capture that this one interrupted is using it.
inline ReplayBlock* OpenReplay() {
  ReplayThread& thread = replay_thread;
  // A signal handler that runs before `busy` is set has ended when this function continues.
  if (thread.busy) return nullptr;
  thread.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ReplayBlock* block = thread.block;
  if (__builtin_expect(block == nullptr, false)) {
    block = OpenReplaySlow();
    if (block == nullptr) {
      thread.busy = false;
      return nullptr;
    }
  }
  ALLOMON_DCHECK_EQ("inv.replay.own", block->owner, &replay_thread);
  const uint64_t generation = replay_generation.load(std::memory_order_acquire);
  if (__builtin_expect(block->generation != generation, false)) {
    block->record.Clear();
    block->generation = generation;
  }
  return block;
}

// Returns the same block unchanged, perhaps with a record of forgotten rules.  nullptr if the
// thread does not have one yet.
inline const ReplayBlock* OpenKnownReplay() {
  ReplayThread& thread = replay_thread;
  if (thread.busy || thread.block == nullptr) return nullptr;
  thread.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  ALLOMON_DCHECK_EQ("inv.replay.own", thread.block->owner, &replay_thread);
  return thread.block;
}

inline void CloseReplay() {
  ALLOMON_DCHECK("inv.replay.own", replay_thread.busy);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  replay_thread.busy = false;
}

// The number of blocks ever mapped, for tests.
uint32_t ReplayBlocksForTesting();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_REPLAY_THREAD_H_
