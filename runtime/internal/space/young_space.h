// All slices of a heap's young objects, by address.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_YOUNG_SPACE_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_YOUNG_SPACE_H_

#include "runtime/internal/space/memory.h"
#include "runtime/internal/space/young_slice.h"

namespace allomon::gc::internal {

// Used while the world is stopped.
class YoungSpace {
 public:
  YoungSpace() = default;
  ~YoungSpace();
  YoungSpace(const YoungSpace&) = delete;
  YoungSpace& operator=(const YoungSpace&) = delete;

  // Adds a slice, which still belongs to its mutator.  False without memory.
  [[nodiscard]] bool Add(YoungSlice* slice);
  void Remove(YoungSlice* slice);
  // Takes over the slices of a detaching mutator, with the objects that stay in them.
  void Adopt(YoungSlice* first);
  // Calls Rebuild() for the adopted slices, and unmaps those in which no object stays.
  template <typename Keep>
  void RebuildAdopted(Keep keep) {
    for (YoungSlice* slice = adopted_; slice != nullptr; slice = slice->next) slice->Rebuild(keep);
    ReleaseEmpty();
  }

  // Returns nullptr if the address is in no slice of the heap.
  YoungSlice* Find(uintptr_t address) const;
  // The slice of an object that stays.
  YoungSlice* Of(const Object* object) const { return Find(WordOfObject(object)); }
  // Returns the object that a word of a stack may refer to; nullptr if there is none.
  Object* ObjectAt(uintptr_t word) const {
    YoungSlice* const slice = Find(word - 1);
    return slice == nullptr ? nullptr : slice->ObjectAt(word);
  }

  bool IsMarked(const Object* object) const { return Of(object)->IsMarked(object); }
  template <typename Visit>
  void ForEachSlice(Visit visit) const {
    for (YoungSlice* slice : slices_) visit(*slice);
  }
  template <typename Visit>
  void ForEachStay(Visit visit) const {
    for (const YoungSlice* slice : slices_) slice->ForEachStay(visit);
  }
  template <typename Visit>
  void ForEachMarked(Visit visit) const {
    for (const YoungSlice* slice : slices_) slice->ForEachMarked(visit);
  }
  uint32_t NumberMarked(uint32_t first) {
    for (YoungSlice* slice : slices_) first = slice->NumberMarked(first);
    return first;
  }
  // Bytes of the objects that stay, headers included, and of those among them that are not old.
  size_t stays_bytes() const;
  size_t old_bytes() const;
  size_t young_bytes() const { return stays_bytes() - old_bytes(); }

 private:
  static uintptr_t WordOfObject(const Object* object) {
    return reinterpret_cast<uintptr_t>(object) - kWordBytes;
  }

  void ReleaseEmpty();

  Vector<YoungSlice*> slices_;  // sorted by address
  YoungSlice* adopted_ = nullptr;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_YOUNG_SPACE_H_
