// Objects of more than 8 KiB: born old, one block of the backend each, never moved.
#ifndef ALLOMON_RUNTIME_INTERNAL_LARGE_SPACE_H_
#define ALLOMON_RUNTIME_INTERNAL_LARGE_SPACE_H_

#include <algorithm>
#include <utility>

#include "runtime/internal/memory.h"
#include "runtime/internal/object.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

// Stands right before the header of a large object.
struct LargeNode {
  LargeNode* next;
  uint64_t words;  // header included
  uint32_t mark;   // the last marking that has found the object, or in which it was made
  uint32_t number;  // by NumberMarked()

  static LargeNode* Of(Object* object) {
    return reinterpret_cast<LargeNode*>(&HeaderOf(object)) - 1;
  }
  const Object* object() const {
    return reinterpret_cast<const Object*>(reinterpret_cast<const Word*>(this + 1) + 1);
  }
  Object* object() { return const_cast<Object*>(std::as_const(*this).object()); }
  size_t bytes() const { return sizeof(LargeNode) + words * kWordBytes; }
  bool Holds(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(this) < bytes();
  }
};

// Any thread may allocate.  The other functions are for collectors, while the world is stopped.
class LargeSpace {
 public:
  LargeSpace() = default;
  ~LargeSpace();
  LargeSpace(const LargeSpace&) = delete;
  LargeSpace& operator=(const LargeSpace&) = delete;

  static size_t BytesFor(uint64_t words) { return sizeof(LargeNode) + words * kWordBytes; }

  // Zero-filled, without a header; the caller must write the header before the next safepoint.
  // nullptr if the space would exceed `most_bytes`, or if the backend has no memory.
  Object* Allocate(uint64_t words, size_t most_bytes);

  // Begins another marking: no object is marked but those that are made from now on.
  void ClearMarks();
  // Called by the only thread that marks.
  bool IsMarked(Object* object) const { return LargeNode::Of(object)->mark == marking_; }
  // Returns false if the object was marked before.
  bool SetMarked(Object* object) {
    if (IsMarked(object)) return false;
    LargeNode::Of(object)->mark = marking_;
    return true;
  }
  // Frees the unmarked objects.
  void Sweep();
  // The same in pieces: after BeginSweep(), SweepNext() looks at some objects, and returns false
  // when there are none left.
  void BeginSweep();
  bool SweepNext();
  // Takes out the slots from `first` on, which lie in large objects, that lie in unmarked ones.  The
  // others are in ascending order afterwards.
  void RemoveSlotsOfDead(Vector<Slot*>& slots, Vector<Slot*>::iterator first);

  // `visit` must not allocate in this space.
  template <typename Visit>
  void ForEachMarked(Visit visit) {
    const MutexHolder hold(mutex_);
    for (LargeNode* node = first_; node != nullptr; node = node->next) {
      if (node->mark == marking_) visit(node->object());
    }
  }
  // Numbers the marked objects from `first` on, in the order of ForEachMarked().
  uint32_t NumberMarked(uint32_t first) {
    const MutexHolder hold(mutex_);
    for (LargeNode* node = first_; node != nullptr; node = node->next) {
      if (node->mark == marking_) node->number = first++;
    }
    return first;
  }
  bool Contains(Object* object);

  // All objects lie between the two addresses; 0 and 0 if there are none.
  void FindBounds(uintptr_t* low, uintptr_t* high);
  // Calls visit(object) for the objects, one of whose bytes, header included, is before a word of
  // [begin, end), which are in ascending order.
  template <typename Visit>
  void ForEachAt(const uintptr_t* begin, const uintptr_t* end, Visit visit) {
    const MutexHolder hold(mutex_);
    for (LargeNode* node = first_; node != nullptr; node = node->next) {
      const uintptr_t header = reinterpret_cast<uintptr_t>(node + 1);
      const uintptr_t* const word = std::upper_bound(begin, end, header);
      if (word != end && *word <= header + node->words * kWordBytes) visit(node->object());
    }
  }

  // The bytes of all objects with their nodes, including objects that are just being allocated.
  size_t bytes() {
    const MutexHolder hold(mutex_);
    return bytes_;
  }

 private:
  bool ClaimBytes(size_t bytes, size_t most_bytes);
  void GiveBytesBack(size_t bytes);
  void Link(LargeNode* node);

  Mutex mutex_;
  LargeNode* first_ ALLOMON_GUARDED_BY(mutex_) = nullptr;
  LargeNode* to_sweep_ ALLOMON_GUARDED_BY(mutex_) = nullptr;
  // Written while the world is stopped.
  uint32_t marking_ = 0;
  size_t bytes_ ALLOMON_GUARDED_BY(mutex_) = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_LARGE_SPACE_H_
