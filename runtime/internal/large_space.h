// Objects of more than 8 KiB: born old, one block of the backend each, never moved.
#ifndef ALLOMON_RUNTIME_INTERNAL_LARGE_SPACE_H_
#define ALLOMON_RUNTIME_INTERNAL_LARGE_SPACE_H_

#include <algorithm>

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
  bool marked;
  uint32_t number;  // by NumberMarked()

  static LargeNode* Of(Object* object) {
    return reinterpret_cast<LargeNode*>(&HeaderOf(object)) - 1;
  }
  Object* object() { return reinterpret_cast<Object*>(reinterpret_cast<Word*>(this + 1) + 1); }
  size_t bytes() const { return sizeof(LargeNode) + words * kWordBytes; }
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

  void ClearMarks();
  // Frees the unmarked objects.
  void Sweep();

  // `visit` must not allocate in this space.
  template <typename Visit>
  void ForEachMarked(Visit visit) {
    const MutexHolder hold(mutex_);
    for (LargeNode* node = first_; node != nullptr; node = node->next) {
      if (node->marked) visit(node->object());
    }
  }
  // Numbers the marked objects from `first` on, in the order of ForEachMarked().
  uint32_t NumberMarked(uint32_t first) {
    const MutexHolder hold(mutex_);
    for (LargeNode* node = first_; node != nullptr; node = node->next) {
      if (node->marked) node->number = first++;
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
  size_t bytes_ ALLOMON_GUARDED_BY(mutex_) = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_LARGE_SPACE_H_
