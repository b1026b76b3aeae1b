// The calls by which a heap has its blocks sampled and followed.  The malloc replacement and the
// managed runtime are the two heaps of this project.  Users include tracker.h.
//
// An allocation of w words (header excluded) costs CountDown(w + 1).  When that returns true, the
// heap asks JudgeAllocationSlow(), and if the block is sampled reports it:
//
//   if (CountDown(words)) {
//     switch (JudgeAllocationSlow(words)) {
//       case Verdict::kNotSampled: allocate as usual;
//       case Verdict::kCount:      ReportCounted(...), and allocate as usual;
//       case Verdict::kFollow:     ReportFollowed(...) or ReportUnplaced(...);
//     }
//   }
//
// A verdict other than kNotSampled must be answered by exactly one of these calls, or by
// DropSample(), on the same thread, before the thread's next allocation; until then allocations of
// this thread are not sampled.
//
// Everything here is thread safe, may be called inside malloc and free, never throws, and never
// takes memory from malloc, but runs the user's callbacks, which may.
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

// For the rare paths of heaps: tracker/base/spin_lock.h.  Never held across a call here.
using internal::SpinLock;
using internal::SpinLockHolder;

// Names the entries of a followed block.  0 is "not followed".  The heap keeps it with the block
// and gives it back once, to OnFree().
using BlockHandle = uint32_t;

enum class Verdict {
  kNotSampled,
  kCount,   // sampled, but no tracker wants to follow blocks
  kFollow,  // sampled, and the heap must be able to tell when the block dies
};

// `words` are the trials held, header included, as given to CountDown() just before.  Cost: a few
// binomial draws when sampled, and a new gap.
Verdict JudgeAllocationSlow(uint64_t words);

struct Block {
  uint64_t size_bytes;  // as requested; words are rounded up from it
  AllocationSource source = AllocationSource::kMalloc;
  bool young = false;  // born in a nursery: alloc_minor, and it may be promoted
  // Where trackers that follow the block put their text about it (describe); nullptr asks none.
  // Not for young blocks.
  BlockNote* note = nullptr;
  const char* type_name = nullptr;  // Allocation::type_name
};

// Runs the alloc callbacks of the sessions that were hit.  `caller` is where the call stack begins.
// ReportFollowed returns 0 if no session goes on following the block.
void ReportCounted(const Block& block, const FrameState& caller);
BlockHandle ReportFollowed(const Block& block, const FrameState& caller);

// The heap could not place the block where it can be followed.  Sessions that only count are told
// of it.  For sessions that follow blocks no callback runs, and a drop is counted.
void ReportUnplaced(const Block& block, const FrameState& caller);

// There is no block after all (out of memory): the drop is counted for each session that was hit.
void DropSample(const Block& block);

// The block has left the nursery alive: runs the promote callbacks.  *handle becomes the handle to
// keep from now on, 0 if no session follows the block any more.  That also holds when a callback
// ends its thread and the stack unwinds: the callbacks that are left then run at the next call.
void OnPromote(BlockHandle* handle);

// The block dies: runs the dealloc callbacks and releases the handle.  Called before the block's
// memory can be reused.  Inside a callback of the same thread the dealloc callback is postponed
// until that one has returned; in a signal handler that has interrupted the tracker, to the
// thread's next callback or its end.
void OnFree(BlockHandle handle);

// Bytes outside of any heap, whose owner reports them: all of this in one call, behind CountDown().
// Returns the handle, 0 if they are not followed.
BlockHandle ReportCustomSlow(uint64_t size_bytes, const FrameState& caller);

// The managed half: for a heap with a nursery, whose allocations may throw.  A mutator owns a
// ManagedSampler in place of the countdown, and asks in its slow path:
//
//   sampler.Pass(words allocated since);
//   const Verdict verdict = JudgeManagedSlow(sampler, words of this block);
//   if (verdict != Verdict::kNotSampled) handle = ReportManaged(sampler, ...);
//
// The alloc callback runs inside ReportManaged(), when the block does not exist yet; it may
// collect, so no unrooted pointer may be held across it.  An exception of a callback is stored in
// *thrown (which must be null before), for the heap to rethrow where its contract lets it.
//
// A ManagedSampler is whole in managed_sampling.h.
using internal::ManagedSampler;

// Whether a callback runs on this thread: it is not sampled then, and the heap leaves promote and
// dealloc callbacks due until it has returned.
bool InCallback();

// As JudgeAllocationSlow(), from the sampler's own stream.
Verdict JudgeManagedSlow(ManagedSampler& sampler, uint64_t words);

// Answers a verdict other than kNotSampled.  If a callback has thrown, the block will not exist:
// the sessions that kept it are told that it died, and 0 is returned.
BlockHandle ReportManaged(const ManagedSampler& sampler, const Block& block,
                          const FrameState& caller, std::exception_ptr* thrown);

// As OnPromote() and OnFree(), after a collection, at a point where user code may run and
// InCallback() is false.  One call at a time per handle.
void OnManagedPromote(BlockHandle* handle, std::exception_ptr* thrown);
void OnManagedFree(BlockHandle handle, std::exception_ptr* thrown);

// Runs `call` while this thread's allocations are not judged, so that no callback runs inside of
// it: where a heap calls the C library, which calls malloc, and half of the work is done.
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

// Names the function in which a heap gives back what it keeps for a thread.  It runs when a thread
// ends for which ThreadExitWillBeSeen() (heap_tools.h) was true.  One per process.
void CallAtThreadExit(void (*hook)());

// Samples for the heap's own purposes, at `rate` per word, beside all other sessions.  Its blocks
// are kCount unless another session follows them, and no user is told of them.  Without a seed:
// unpredictable.  0: the rate is not in [0, 1], or there are too many sessions.  Not inside malloc.
uint32_t StartSampling(double rate, std::optional<uint64_t> seed);
void StopSampling(uint32_t id);

// The call stack from `caller` on, innermost first, for a heap's own records.  Frames of the
// allocator's text (below) are left out.  Returns their number.  Also in signal handlers.  Cost:
// the capture's.
size_t CaptureFrames(const FrameState& caller, uintptr_t* frames, size_t max_frames);

// dlclose of a heap that stands in front of the C library's; see core/code_unload.h.
int UnloadCode(void* handle, int (*unload)(void*));

// Tells where the code of the malloc entry points lies: frames in [begin, end) are left out of the
// innermost end of call stacks.  Before the first sample.
void SetAllocatorText(uintptr_t begin, uintptr_t end);

// Makes fork safe for the tracker's locks.  A heap with fork handlers of its own that wait for
// other threads calls this first: handlers that are installed later run earlier before a fork, so
// it waits before the tracker's locks are taken.
void InstallForkHandlers();

// Around fork: hold all locks of the tracker and of heaps, so that the child inherits none held.
// In the child only the calling thread is left.
void BeforeFork();
void AfterForkInParent();
void AfterForkInChild();

// Tells that a heap which reports is linked; without one Tracker::start() fails.  From a
// constructor of priority 101, so that a user's static objects can start trackers.
void AnnounceHeap();

// Tells that the heap of this library leaves the process alone: its malloc is another's.
void AnnounceStandingAside();

// A heap's own lock, to be held around fork with the tracker's.  It must live for ever.  Before the
// first sample; at most kMaxHeapLocks.
inline constexpr int kMaxHeapLocks = 4;
void HoldAroundFork(SpinLock* lock);

}  // namespace allomon::heap_client

#endif  // ALLOMON_TRACKER_HEAP_CLIENT_H_
