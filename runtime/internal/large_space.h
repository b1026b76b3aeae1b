// Objects of more than 8 KiB: born old, one block of the backend each, never moved.
#ifndef ALLOMON_RUNTIME_INTERNAL_LARGE_SPACE_H_
#define ALLOMON_RUNTIME_INTERNAL_LARGE_SPACE_H_

#include <mutex>

#include "runtime/internal/memory.h"
#include "runtime/internal/object.h"

namespace allomon::gc::internal {

// Stands right before the header of a large object.
struct LargeNode {
  LargeNode* next;
  uint64_t words;  // header included
  bool marked;

  static LargeNode* Of(Object* object) {
    return reinterpret_cast<LargeNode*>(&HeaderOf(object)) - 1;
  }
  Object* object() { return reinterpret_cast<Object*>(reinterpret_cast<Word*>(this + 1) + 1); }
  size_t bytes() const { return sizeof(LargeNode) + words * kWordBytes; }
};

class LargeSpace {
 public:
  LargeSpace() = default;
  ~LargeSpace();
  LargeSpace(const LargeSpace&) = delete;
  LargeSpace& operator=(const LargeSpace&) = delete;

  static size_t BytesFor(uint64_t words) { return sizeof(LargeNode) + words * kWordBytes; }

  // Zero-filled, without a header yet, which must be written before the next safepoint.
  // nullptr when the backend has none.  Any thread.
  Object* Allocate(uint64_t words);

  void ClearMarks();
  // Frees the unmarked ones.
  void Sweep();

  template <typename Visit>
  void ForEachMarked(Visit visit) {
    for (LargeNode* node = first_; node != nullptr; node = node->next) {
      if (node->marked) visit(node->object());
    }
  }
  bool Contains(Object* object) const;

  size_t bytes() const { return bytes_; }

 private:
  std::mutex mutex_;
  LargeNode* first_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_LARGE_SPACE_H_
