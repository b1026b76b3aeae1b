// What a heap calls to have its blocks sampled and followed: the malloc replacement and
// the managed runtime are the two heaps of this project.  Users include tracker.h.
//
// An allocation of w words (header excluded) costs CountDown(w + 1).  When that returns
// true, the heap asks JudgeAllocationSlow(), and if the block is sampled reports it:
//
//   if (CountDown(words)) {
//     switch (JudgeAllocationSlow(words)) {
//       case Verdict::kNotSampled: allocate as usual;
//       case Verdict::kCount:      ReportCounted(...), and allocate as usual;
//       case Verdict::kFollow:     ReportFollowed(...) or DropSample(...);
//     }
//   }
//
// A verdict other than kNotSampled must be answered by exactly one of the three calls,
// on the same thread, before the thread's next allocation; until then allocations of
// this thread are not sampled.
//
// Everything here is thread safe, may be called inside malloc and free, never throws,
// and never takes memory from malloc, but runs the user's callbacks, which may.
#ifndef ALLOMON_TRACKER_HEAP_CLIENT_H_
#define ALLOMON_TRACKER_HEAP_CLIENT_H_

#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/callstack/capture.h"
#include "tracker/internal/countdown.h"
#include "tracker/internal/spin_lock.h"

namespace allomon::heap_client {

using internal::CountDown;
using internal::SpinLock;  // for the rare paths of heaps; never held across a call here

// Names the entries of a followed block.  0 is "not followed".  The heap keeps it with
// the block and gives it back once, to OnFree().
using BlockHandle = uint32_t;

enum class Verdict {
  kNotSampled,
  kCount,   // sampled, but no tracker wants to follow blocks
  kFollow,  // sampled, and the heap must be able to tell when the block dies
};

// `words` are the trials held, header included, as given to CountDown() just before.
// Cost: a few binomial draws when sampled, and a new gap.
Verdict JudgeAllocationSlow(uint64_t words);

struct Block {
  uint64_t size_bytes;  // as requested; words are rounded up from it
  AllocationSource source = AllocationSource::kMalloc;
  bool young = false;   // born in a nursery: alloc_minor, and it may be promoted
};

// Runs the alloc callbacks of the sessions that were hit.  `caller` is where the call
// stack begins.  ReportFollowed returns 0 if nobody goes on following the block.
void ReportCounted(const Block& block, FrameState caller);
BlockHandle ReportFollowed(const Block& block, FrameState caller);

// The heap could not place the block where it can be followed: no callback runs, and the
// drop is counted for each session that was hit.
void DropSample(const Block& block);

// The block has left the nursery alive: runs the promote callbacks.  Returns the handle
// to keep from now on, 0 if nobody follows the block any more.
BlockHandle OnPromote(BlockHandle handle);

// The block dies: runs the dealloc callbacks and releases the handle.  Called before the
// block's memory can be reused.  Inside a callback of the same thread the dealloc
// callback is postponed until that one has returned.
void OnFree(BlockHandle handle);

// Tells where the code of the malloc entry points lies: frames in [begin, end) are left
// out of the innermost end of call stacks.  Before the first sample.
void SetAllocatorText(uintptr_t begin, uintptr_t end);

// Around fork: hold all tracker locks and those of heaps, so that the child inherits
// none.  In the child only the calling thread is left.
void BeforeFork();
void AfterForkInParent();
void AfterForkInChild();

// A heap's own lock, to be held around fork with the tracker's.  It must live for ever.
// Before the first sample; at most kMaxHeapLocks.
inline constexpr int kMaxHeapLocks = 4;
void HoldAroundFork(SpinLock* lock);

}  // namespace allomon::heap_client

#endif  // ALLOMON_TRACKER_HEAP_CLIENT_H_
