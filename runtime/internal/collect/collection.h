// The beginning and the end of a collection: the world is stopped, the nurseries get their room
// again.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTION_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTION_H_

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Looks at the live objects of a heap, between two collections.  Calls no malloc, whose samples run
// user code, which could wait for a thread that stands.
class LiveObjectsVisitor {
 public:
  virtual ~LiveObjectsVisitor() = default;
  // Called once, while the world stands still.  The marks of the spaces are exactly those of the
  // live objects.
  virtual void Look(HeapCore& heap) = 0;
};

// Collects, with the world stopped by this thread.  `mutator` is the thread's own mutator, or
// nullptr for a thread that does not run in this heap.
enum class CallersStack { kKeeps, kKeepsNothing };  // the native one of the calling thread
void Collect(HeapCore& heap, CollectionKind kind, Mutator* mutator,
             CallersStack stack = CallersStack::kKeeps);
// Collects kMajor, and lets the visitor look before the world goes on.  Throws std::bad_alloc.
void CollectAndLook(HeapCore& heap, LiveObjectsVisitor& visitor, Mutator* mutator);
// Empties the nurseries, the caller's included.  A major collection follows if one is due.  Returns
// false, and has collected nothing, if another thread stopped the world first: that may have made
// room, if it was for a collection.
bool CollectForRoom(HeapCore& heap, Mutator& mutator, const StandPoint& entry);
// A major collection is due before `bytes` are added: does it, or begins it in slices, or goes on
// with the one that is under way.  Does nothing if another thread's collection has left none due.
void CollectForGrowth(HeapCore& heap, Mutator& mutator, size_t bytes = 0);

// With the world stopped by this thread.  `due`: a major collection is, if `kind` is kMinor.
// False if a major collection had no memory to mark with.
bool RunCollection(HeapCore& heap, CollectionKind kind, bool due = false);
// Called after a collection by the thread that has stopped the world.  The heap takes over the
// contents of the mutator's nursery and lists.
void LeaveHeap(HeapCore& heap, Mutator& mutator);
// Follows RunCollection(): lets the world run, and frees the chunks that the collection released.
void ResumeAndRelease(HeapCore& heap);

HeapStatistics Statistics(HeapCore& heap, Mutator* mutator);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTION_H_
