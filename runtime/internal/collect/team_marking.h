// The marking of a stopped major collection by several threads.
//
// Each member of the team has a marker, and offers a part of its work to members without any.  The
// collecting thread visits the roots before that, and does all that follows alone: objects that did
// not fit on the members' stacks, ephemerons, finalizers and tables.  So the order of callbacks is
// that of one thread.
//
// See "Old space" in runtime/README.md.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_TEAM_MARKING_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_TEAM_MARKING_H_

#include <cstddef>
#include <memory>

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/marker.h"
#include "runtime/internal/collect/shared_work.h"

namespace allomon::gc::internal {

// Used by the thread that has stopped the world, once, and destroyed before the world runs.
class TeamMarking {
 public:
  struct Destroy {
    void operator()(TeamMarking* marking) const;
  };
  using Pointer = std::unique_ptr<TeamMarking, Destroy>;

  // `members`: from 2 to the team's threads and one.  nullptr without memory.  The memory is the
  // backend's, some 40 KiB a member, since the stack of a coroutine has no room for it.
  static Pointer Make(HeapCore& heap, size_t members);
  TeamMarking(const TeamMarking&) = delete;
  TeamMarking& operator=(const TeamMarking&) = delete;

  // The collecting thread's, which visits the roots before Run().
  TeamMarker& own() { return markers()[0]; }
  // Marks all that is reachable, and adds the members' results to `marker`; Marker::Drain() is to
  // follow.  Never fails: without memory the members leave more to that.
  void Run(WholeMarker& marker);

 private:
  TeamMarking(HeapCore& heap, size_t members);
  ~TeamMarking();

  static void Help(void* self, size_t member);
  // They lie after this object, in its memory.
  TeamMarker* markers() { return reinterpret_cast<TeamMarker*>(this + 1); }

  HeapCore& heap_;
  const size_t members_;
  SharedWork work_;
};

// Used by debug builds, before ephemerons are followed: whether each block's sum is that of its
// marked objects, and whether marked objects refer to no others.
bool MarksAreWhole(HeapCore& heap, const WholeMarker& marker);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_TEAM_MARKING_H_
