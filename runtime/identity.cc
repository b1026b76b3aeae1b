#include "runtime/identity.h"

#include <new>

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/object/value_word.h"

namespace allomon::gc::internal {

uint64_t IdentityHash(Object* object) {
  if (!PointsToObject(object)) return MixWord(WordOf(object));
  HeapCore& heap = *CurrentMutator().heap;
  if (!IsYoung(object) && heap.identities.empty()) return MixWord(WordOf(object));
  uint64_t hash = 0;
  bool found = false;
  {
    const MutexHolder hold(heap.tables_mutex);
    found = heap.identities.HashOf(object, &hash);
  }
  if (!found) throw std::bad_alloc();
  return hash;
}

}  // namespace allomon::gc::internal
