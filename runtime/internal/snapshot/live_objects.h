// The live objects of a heap and their numbers, after a major collection.  The marks are a bitmap
// of the live objects, and the numbers are ranks in it, so a walk needs no memory per object.
#ifndef ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_LIVE_OBJECTS_H_
#define ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_LIVE_OBJECTS_H_

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

inline uint64_t BytesOf(const TypeInfo& type, Object* object) {
  return (SizeWords(type, object) + 1) * kWordBytes;
}

// Calls visit(Object*) for every live object.
template <typename Visit>
void ForEachLiveObject(HeapCore& heap, Visit visit) {
  heap.blocks.ForEachMarked(visit);
  heap.young.ForEachMarked(visit);
  heap.large.ForEachMarked(visit);
}

// Numbers the live objects from 0 on, in the order of ForEachLiveObject().
class ObjectNumbers {
 public:
  explicit ObjectNumbers(HeapCore& heap)
      : young_(heap.young),
        large_(heap.large),
        first_large_(heap.young.NumberMarked(heap.blocks.NumberMarked(0))),
        n_objects_(heap.large.NumberMarked(first_large_)) {}

  // The object's header is read only if there are large objects: it is mostly not in the cache.
  uint32_t Of(Object* object) const {
    if (IsYoung(object)) return young_.Of(object)->NumberOf(object);
    if (first_large_ != n_objects_ && IsLarge(HeaderOf(object))) {
      return LargeNode::Of(object)->number;
    }
    return Chunk::Of(object)->NumberOf(object);
  }
  uint32_t n_objects() const { return n_objects_; }

  bool IsLive(Object* object) const {
    if (IsYoung(object)) return young_.IsMarked(object);
    if (IsLarge(HeaderOf(object))) return large_.IsMarked(object);
    return Chunk::Of(object)->IsMarked(object);
  }

 private:
  const YoungSpace& young_;
  const LargeSpace& large_;
  const uint32_t first_large_;
  const uint32_t n_objects_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SNAPSHOT_LIVE_OBJECTS_H_
