// Objects of more than 8 KiB: born old, one block of the backend each, never moved.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_LARGE_SPACE_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_LARGE_SPACE_H_

#include <atomic>
#include <utility>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/memory.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

// Lies immediately before the header of a large object.
struct LargeNode {
  uint64_t words;   // header included
  uint32_t mark;    // the last marking that has found the object, or in which it was made
  uint32_t number;  // set by NumberMarked()

  static LargeNode* Of(Object* object) {
    return reinterpret_cast<LargeNode*>(&HeaderOf(object)) - 1;
  }
  Object* object() { return reinterpret_cast<Object*>(reinterpret_cast<Word*>(this + 1) + 1); }
  size_t bytes() const { return sizeof(LargeNode) + words * kWordBytes; }
  bool Holds(uintptr_t address) const {
    return address - reinterpret_cast<uintptr_t>(this) < bytes();
  }
};

// Any thread may allocate.  The other functions are for collectors, while the world is stopped,
// except where stated.
class LargeSpace {
 public:
  LargeSpace() = default;
  ~LargeSpace();
  LargeSpace(const LargeSpace&) = delete;
  LargeSpace& operator=(const LargeSpace&) = delete;

  static size_t BytesFor(uint64_t words) { return sizeof(LargeNode) + words * kWordBytes; }

  // Zero-filled, without a header; the caller must write the header before the next safepoint.
  // nullptr if the space would exceed `most_bytes`, or if the backend has no memory.  Cost: the
  // backend's, and each 256th time a merge of all objects' addresses.
  Object* Allocate(uint64_t words, size_t most_bytes);

  // Begins another marking: only objects made from now on are marked.
  void ClearMarks();
  // Called only by a thread that marks alone.
  bool IsMarked(Object* object) const { return LargeNode::Of(object)->mark == marking_; }
  // Returns false if the object was marked before.
  bool SetMarked(Object* object) {
    if (IsMarked(object)) return false;
    LargeNode::Of(object)->mark = marking_;
    return true;
  }
  // The same while several threads mark (Chunk::SetMarkedShared).
  bool SetMarkedShared(Object* object) {
    uint32_t& mark = LargeNode::Of(object)->mark;
    if (__atomic_load_n(&mark, __ATOMIC_RELAXED) == marking_) return false;
    return __atomic_exchange_n(&mark, marking_, __ATOMIC_RELAXED) != marking_;
  }
  // Frees the unmarked objects.  The pages of those beyond the first `keep_bytes` go back to the
  // system at once, since a backend keeps them; the others are for objects to come.
  void Sweep(size_t keep_bytes);
  // Sweeps in pieces: after BeginSweep(), SweepNext() looks at some objects and returns false when
  // no objects are left.  It fills `dead` with those that Free() must free.  Other threads may
  // allocate meanwhile.
  static constexpr size_t kSweptAtOnce = 16;
  struct Dead {
    LargeNode* nodes[kSweptAtOnce];
    size_t count = 0;
    bool keeps_pages = true;
  };
  void BeginSweep(size_t keep_bytes);
  bool SweepNext(Dead& dead);
  static void Free(Dead& dead);
  // Returns the bytes that were found dead, beyond those to keep, since the last call.
  size_t TakeDroppedBytes() { return dropped_bytes_.exchange(0, std::memory_order_relaxed); }

  // `visit` must not allocate in this space.  Not between BeginSweep() and the end of the sweep.
  template <typename Visit>
  void ForEachMarked(Visit visit) {
    const MutexHolder hold(mutex_);
    for (LargeNode* node : nodes_) {
      if (node->mark == marking_) visit(node->object());
    }
  }
  // Numbers the marked objects from `first` on, in the order of ForEachMarked().
  uint32_t NumberMarked(uint32_t first) {
    const MutexHolder hold(mutex_);
    for (LargeNode* node : nodes_) {
      if (node->mark == marking_) node->number = first++;
    }
    return first;
  }
  bool Contains(Object* object);

  // Returns two addresses that enclose all objects; 0 and 0 without objects.  Must not be called
  // while sweeping.
  void FindBounds(uintptr_t* low, uintptr_t* high);
  // Returns the object, header included, that holds the byte, or nullptr.  Must be called after
  // FindBounds(), with no allocation in between.
  Object* ObjectAt(uintptr_t byte);

  // The bytes of all objects with their nodes, including objects that are just being allocated.
  size_t bytes() {
    const MutexHolder hold(mutex_);
    return bytes_;
  }

 private:
  // The number of nodes merged at a time.
  static constexpr size_t kMergedAtOnce = 256;

  bool ClaimBytes(size_t bytes, size_t most_bytes);
  void GiveBytesBack(size_t bytes);
  void Link(LargeNode* node);
  void MergeLocked() ALLOMON_REQUIRES(mutex_);
  void SortLocked() ALLOMON_REQUIRES(mutex_);
  void SweepAll();
  void EndSweepLocked() ALLOMON_REQUIRES(mutex_);

  Mutex mutex_;
  // The first n_sorted_ nodes are sorted by address, the others are recent.  During a sweep, the
  // nodes in [sweep_kept_, sweep_next_) are already removed.
  Vector<LargeNode*> nodes_ ALLOMON_GUARDED_BY(mutex_);
  size_t n_sorted_ ALLOMON_GUARDED_BY(mutex_) = 0;
  size_t n_claimed_ ALLOMON_GUARDED_BY(mutex_) = 0;  // number of further nodes for which room is
                                                     // reserved
  bool sweeping_ ALLOMON_GUARDED_BY(mutex_) = false;
  size_t sweep_kept_ ALLOMON_GUARDED_BY(mutex_) = 0;
  size_t sweep_sorted_ ALLOMON_GUARDED_BY(mutex_) = 0;  // sorted ones among the kept nodes
  size_t sweep_next_ ALLOMON_GUARDED_BY(mutex_) = 0;
  size_t sweep_end_ ALLOMON_GUARDED_BY(mutex_) = 0;
  size_t sweep_keep_bytes_ ALLOMON_GUARDED_BY(mutex_) = 0;  // of objects still to be found dead
  size_t bytes_ ALLOMON_GUARDED_BY(mutex_) = 0;
  std::atomic<size_t> dropped_bytes_{0};
  // Written while the world is stopped.
  uint32_t marking_ = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_LARGE_SPACE_H_
