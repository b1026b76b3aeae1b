// The stack of a marking, in segments: growing it copies nothing, and touches few new pages at a
// time.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_STACK_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_STACK_H_

#include <algorithm>
#include <cstddef>
#include <utility>

#include "allomon_backend.h"
#include "runtime/internal/object/object.h"

namespace allomon::gc::internal {

class MarkStack {
 public:
  // A stack of at most `most` entries, rounded down to whole segments if they exceed one.
  explicit MarkStack(size_t most)
      : segment_entries_(std::min(most, kSegmentEntries)), n_left_(most / segment_entries_) {}
  ~MarkStack() {
    backend::Free(spare_);
    while (first_ != nullptr) backend::Free(std::exchange(first_, first_->below));
  }
  MarkStack(const MarkStack&) = delete;
  MarkStack& operator=(const MarkStack&) = delete;

  // False if the stack may not grow, or there is no memory.
  bool TryPush(Object* object) {
    if (__builtin_expect(top_ == end_, 0) && !Grow()) return false;
    *top_++ = object;
    return true;
  }
  // nullptr if the stack is empty.
  Object* Pop() {
    if (__builtin_expect(top_ == begin_, 0) && !Shrink()) return nullptr;
    return *--top_;
  }
  // Removes the older half of the first segment, but no more than `most` entries, and writes them
  // to `to`.  Returns their number, 0 where the segment has fewer than two.  What is older in a
  // depth-first search mostly leads to more.
  size_t TakeOlderHalf(Object** to, size_t most) {
    const size_t n = std::min(static_cast<size_t>(top_ - begin_) / 2, most);
    std::copy(begin_, begin_ + n, to);
    std::copy(begin_ + n, top_, begin_);
    top_ -= n;
    return n;
  }

 private:
  static constexpr size_t kSegmentEntries = 4096;

  struct Segment {
    Segment* below;
    Object** entries() { return reinterpret_cast<Object**>(this + 1); }
  };

  void Enter(Segment* segment) {
    begin_ = segment->entries();
    end_ = begin_ + segment_entries_;
  }
  // Keeps one empty segment, so that a stack at a segment's edge does not repeatedly allocate.
  __attribute__((noinline)) bool Grow() {
    Segment* segment = std::exchange(spare_, nullptr);
    if (segment == nullptr) {
      if (n_left_ == 0) return false;
      const size_t bytes = sizeof(Segment) + segment_entries_ * sizeof(Object*);
      segment = static_cast<Segment*>(backend::Malloc(bytes));
      if (segment == nullptr) return false;
      --n_left_;
    }
    segment->below = std::exchange(first_, segment);
    Enter(segment);
    top_ = begin_;
    return true;
  }
  __attribute__((noinline)) bool Shrink() {
    if (first_ == nullptr || first_->below == nullptr) return false;
    if (spare_ != nullptr) {
      backend::Free(spare_);
      ++n_left_;
    }
    spare_ = std::exchange(first_, first_->below);
    Enter(first_);
    top_ = end_;
    return true;
  }

  const size_t segment_entries_;
  size_t n_left_;  // segments that may be made
  Segment* first_ = nullptr;
  Segment* spare_ = nullptr;
  // The start of the first segment.
  Object** begin_ = nullptr;
  Object** end_ = nullptr;
  Object** top_ = nullptr;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_STACK_H_
