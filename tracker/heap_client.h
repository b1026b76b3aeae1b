// The functions by which a heap has its blocks sampled and followed.  The malloc replacement and
// the managed runtime are the two heaps of this project.  Users include tracker.h.
//
// An allocation of w words (header excluded) calls CountDown(w + 1).  If that returns true, the
// heap calls JudgeAllocationSlow(), and reports the block if it is sampled:
//
//   if (CountDown(words)) {
//     switch (JudgeAllocationSlow(words)) {
//       case Verdict::kNotSampled: allocate as usual;
//       case Verdict::kCount:      ReportCounted(...), and allocate as usual;
//       case Verdict::kFollow:     ReportFollowed(...) or ReportUnplaced(...);
//     }
//   }
//
// The heap must answer any verdict but kNotSampled by exactly one of these calls, or by
// DropSample(), on the same thread, before the thread's next allocation.  Until then allocations of
// this thread are not sampled.
//
// Everything here is thread safe, may be called inside malloc and free, never throws, and never
// takes memory from malloc.  It runs the user's callbacks, which may.
#ifndef ALLOMON_TRACKER_HEAP_CLIENT_H_
#define ALLOMON_TRACKER_HEAP_CLIENT_H_

#include <cstdint>
#include <exception>
#include <optional>

#include "tracker/allocation.h"
#include "tracker/block_note.h"
#include "tracker/callstack/capture.h"
#include "tracker/sampling/countdown.h"

namespace allomon::internal {
class ManagedSampler;
class SpinLock;
class SpinLockHolder;
}  // namespace allomon::internal

namespace allomon::heap_client {

using internal::CountDown;

// The lock of tracker/base/spin_lock.h, for the rare paths of heaps.  Never held across a call
// here.
using internal::SpinLock;
using internal::SpinLockHolder;

// Identifies the entries of a followed block.  0 is "not followed".  The heap keeps it with the
// block and passes it once to OnFree().
using BlockHandle = uint32_t;

enum class Verdict {
  kNotSampled,
  kCount,   // sampled, but no tracker follows blocks
  kFollow,  // sampled, and the heap must be able to tell when the block dies
};

// Judges an allocation.  `words` are the trials, header included, as passed to CountDown() just
// before.  Cost: a few binomial draws if sampled, and a new gap.
Verdict JudgeAllocationSlow(uint64_t words);

struct Block {
  uint64_t size_bytes;  // as requested; words are rounded up from it
  AllocationSource source = AllocationSource::kMalloc;
  bool young = false;  // born in a nursery: alloc_minor, may be promoted
  // Receives the text of trackers that follow the block (describe); nullptr asks for no text.  Not
  // for young blocks.
  BlockNote* note = nullptr;
  const char* type_name = nullptr;  // Allocation::type_name
  bool is_mapped = false;           // Allocation::is_mapped
  const void* address = nullptr;    // Allocation::address
};

// Runs the alloc callbacks of the sessions that were hit.  The call stack begins at `caller`.
// ReportFollowed returns 0 if no session follows the block any further.
void ReportCounted(const Block& block, const FrameState& caller);
BlockHandle ReportFollowed(const Block& block, const FrameState& caller);

// Reports a block that the heap could not place where it can be followed.  Sessions that only count
// get it.  For sessions that follow blocks no callback runs, and a drop is counted.
void ReportUnplaced(const Block& block, const FrameState& caller);

// Reports that the allocation failed after all (out of memory).  The statistics of each session
// that was hit count a drop.  Recordings do not, since they lack nothing, and the block's words do
// not count as allocated.
void DropSample(const Block& block);

// Runs the promote callbacks of a block that has left the nursery alive.  *handle becomes the new
// handle, 0 if no session follows the block any more.  If a callback ends its thread and the stack
// unwinds, *handle is valid too: the remaining callbacks then run at the next call.
void OnPromote(BlockHandle* handle);

// Runs the dealloc callbacks of a block that dies, and releases the handle.  Called before the
// block's memory can be reused.  Inside a callback of the same thread the dealloc callback is
// postponed until that one has returned; in a signal handler that has interrupted the tracker,
// until the thread's next callback or its end.
void OnFree(BlockHandle handle);

// Does what OnFree() does for a block that was freed earlier, where nobody saw it.  Recordings
// count it, unless the callback is postponed.
void OnUnseenFree(BlockHandle handle);

// Judges and reports bytes outside of any heap, in one call after CountDown().  Returns the handle,
// 0 if they are not followed.
BlockHandle ReportCustomSlow(uint64_t size_bytes, const FrameState& caller);

// The managed half: for a heap with a nursery, whose allocations may throw.  A mutator owns a
// ManagedSampler instead of the countdown, and calls in its slow path:
//
//   sampler.Pass(words allocated since);
//   const Verdict verdict = JudgeManagedSlow(sampler, words of this block);
//   if (verdict != Verdict::kNotSampled) handle = ReportManaged(sampler, ...);
//
// The alloc callback runs inside ReportManaged(), before the block exists.  It may collect, so no
// unrooted pointer may be held across it.  An exception of a callback is stored in *thrown (null
// before the call), for the heap to rethrow where its contract allows.
//
// managed_sampling.h defines ManagedSampler.
using internal::ManagedSampler;

// Whether a callback runs on this thread.  The thread is not sampled then, and the heap postpones
// promote and dealloc callbacks until the callback has returned.
bool InCallback();

// Like JudgeAllocationSlow(), but from the sampler's own stream.
Verdict JudgeManagedSlow(ManagedSampler& sampler, uint64_t words);

// Reports a block with a verdict other than kNotSampled.  If a callback has thrown, the block will
// not exist: the sessions that kept it are told of its death, and 0 is returned.
BlockHandle ReportManaged(const ManagedSampler& sampler, const Block& block,
                          const FrameState& caller, std::exception_ptr* thrown);

// Like OnPromote() and OnFree(), after a collection, at a point where user code may run and
// InCallback() is false.  One call at a time per handle.
void OnManagedPromote(BlockHandle* handle, std::exception_ptr* thrown);
void OnManagedFree(BlockHandle handle, std::exception_ptr* thrown);

// Runs `call` while this thread's allocations are not judged, so that no callback runs inside it:
// for calls of the C library, which call malloc while a heap's work is half done.
bool BeginUnjudged();
void EndUnjudged(bool was_busy);
template <typename Call>
void RunUnjudged(Call call) {
  const struct Scope {
    ~Scope() { EndUnjudged(was_busy); }
    const bool was_busy = BeginUnjudged();
  } unjudged;
  call();
}

// Sets the function by which a heap releases what it keeps for a thread.  It runs at the end of
// each thread for which ThreadExitWillBeSeen() (heap_tools.h) was true.  One per process.
void CallAtThreadExit(void (*hook)());

// Samples for the heap's own purposes, at `rate` per word, in addition to all other sessions.  The
// verdict for its blocks is kCount unless another session follows them, and no user is told of
// them.  Without a seed it is unpredictable.  Returns 0 if the rate is not in [0, 1], or there are
// too many sessions.  Not inside malloc.
uint32_t StartSampling(double rate, std::optional<uint64_t> seed);
void StopSampling(uint32_t id);

// Stores the call stack from `caller` on, innermost first, for a heap's own records.  Frames of the
// allocator's text (below) are left out.  Returns their number.  Also in signal handlers.  Cost:
// the capture's.
size_t CaptureFrames(const FrameState& caller, uintptr_t* frames, size_t max_frames);

// The dlclose of a heap that overrides the C library's; see core/code_unload.h.
int UnloadCode(void* handle, int (*unload)(void*));

// Sets the address range of the malloc entry points: frames in [begin, end) are left out of the
// innermost end of call stacks.  Call before the first sample.
void SetAllocatorText(uintptr_t begin, uintptr_t end);

// Makes fork safe for the tracker's locks.  A heap with fork handlers that wait for other threads
// calls this before it installs its own: later handlers run earlier before a fork, so its handler
// waits before the tracker's locks are taken.
void InstallForkHandlers();

// Fork handlers: they hold all locks of the tracker and of heaps, so that the child inherits no
// held lock.  In the child only the calling thread is left.
void BeforeFork();
void AfterForkInParent();
void AfterForkInChild();

// Notes that a heap which reports is linked; without one Tracker::start() fails.  Called from a
// constructor of priority 101, so that a user's static objects can start trackers.
void AnnounceHeap();

// Notes that this library's heap does not serve the process, whose malloc is another.
void AnnounceStandingAside();

// Adds a heap's lock to those held around fork.  It must live for ever.  Call before the first
// sample; at most kMaxHeapLocks.
inline constexpr int kMaxHeapLocks = 4;
void HoldAroundFork(SpinLock* lock);

}  // namespace allomon::heap_client

#endif  // ALLOMON_TRACKER_HEAP_CLIENT_H_
