#include "runtime/internal/collect/stack_roots.h"

#include <algorithm>

#include "runtime/internal/object/value_word.h"

namespace allomon::gc::internal {
namespace {

// Collects the words that point into objects.
class ObjectWords : public WordVisitor {
 public:
  explicit ObjectWords(HeapCore& heap)
      : heap_(heap), blocks_{heap.blocks.low(), heap.blocks.high()} {
    heap.blocks.CloseHoles();
    heap.large.FindBounds(&large_.low, &large_.high);
  }

  ALLOMON_GC_SCANS void Visit(const uintptr_t* begin, const uintptr_t* end) override {
    for (const uintptr_t* word = begin; word < end; ++word) {
      const uintptr_t byte = *word - 1;
      if (blocks_.Contains(byte) || large_.Contains(byte) ||
          IsYoung(reinterpret_cast<void*>(byte))) {
        Add(*word);
      }
    }
  }

  // Replaces *objects by those that the words refer to.  False without memory.
  [[nodiscard]] bool Find(Vector<Object*>* objects) {
    objects->clear();
    // No word refers to two objects.
    if (!has_room_ || !TryReserve(*objects, words_.size())) return false;
    std::sort(words_.begin(), words_.end());
    words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
    for (const uintptr_t word : words_) {
      Object* object = heap_.young.ObjectAt(word);
      if (object == nullptr) object = heap_.blocks.ObjectAt(word);
      if (object == nullptr) object = LargeObjectAt(word);
      if (object != nullptr) objects->push_back(object);
    }
    std::sort(objects->begin(), objects->end());
    objects->erase(std::unique(objects->begin(), objects->end()), objects->end());
    return true;
  }

 private:
  // Like the other ObjectAt() functions: a word keeps the object, header included, that holds the
  // byte before it.
  Object* LargeObjectAt(uintptr_t word) {
    if (!large_.Contains(word - 1)) return nullptr;
    Object* const object = heap_.large.ObjectAt(word - 1);
    const bool in_node = object != nullptr && word <= WordOf(object) - kWordBytes;
    return in_node ? nullptr : object;
  }

  __attribute__((noinline)) void Add(uintptr_t word) {
    const bool full = words_.size() == words_.capacity();
    if (full && !TryReserve(words_, words_.size() * 2 + 256)) has_room_ = false;
    if (has_room_) words_.push_back(word);
  }

  HeapCore& heap_;
  const StackRange blocks_;
  StackRange large_;
  Vector<uintptr_t> words_;
  bool has_room_ = true;
};

// Marks the young objects that words refer to as staying.
class StayingWords : public WordVisitor {
 public:
  explicit StayingWords(HeapCore& heap) : heap_(heap) {}

  ALLOMON_GC_SCANS void Visit(const uintptr_t* begin, const uintptr_t* end) override {
    for (const uintptr_t* word = begin; word < end; ++word) {
      if (IsYoung(reinterpret_cast<void*>(*word - 1))) Keep(*word);
    }
  }

 private:
  __attribute__((noinline)) void Keep(uintptr_t word) {
    Object* const object = heap_.young.ObjectAt(word);
    if (object != nullptr) HeaderOf(object) |= kStaysBit;
  }

  HeapCore& heap_;
};

void ForgetStays(HeapCore& heap) {
  heap.young.ForEachStay([](Object* object) { HeaderOf(object) &= ~kStaysBit; });
}

}  // namespace

// All stacks are scanned, also without memory: a scan tells ScanCoroutines() which ones are in use.
bool NoteStackObjects(HeapCore& heap) {
  bool has_room = true;
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    ObjectWords words(heap);
    if (heap.scans_stacks) mutator->stack.Scan(heap.coroutines, words);
    has_room = words.Find(&mutator->stack_objects) && has_room;
  }
  ObjectWords words(heap);
  if (heap.scans_stacks) ScanCoroutines(heap.coroutines, words);
  return words.Find(&heap.coroutine_objects) && has_room;
}

void ScanStacks(HeapCore& heap, WordVisitor& visitor) {
  if (!heap.scans_stacks) return;
  for (Mutator* mutator = heap.world.first(); mutator != nullptr; mutator = mutator->next) {
    mutator->stack.Scan(heap.coroutines, visitor);
  }
  ScanCoroutines(heap.coroutines, visitor);
}

// After a minor collection the only young objects are those that stay.
bool FindStackObjects(HeapCore& heap) {
  if (!NoteStackObjects(heap)) return false;
  ForgetStays(heap);
  ForEachStackObject(heap, [](Object* object) {
    if (IsYoung(object)) HeaderOf(object) |= kStaysBit;
  });
  return true;
}

void RestrictTenure(HeapCore& heap) {
  ForgetStays(heap);
  StayingWords words(heap);
  ScanStacks(heap, words);
  heap.young.ForEachStay([](Object* object) { NormalizeTenure(HeaderOf(object)); });
}

}  // namespace allomon::gc::internal
