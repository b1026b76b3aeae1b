// Lists of numbers, and a heap marked by its own thread, for tests of marking.
#ifndef ALLOMON_TESTS_RUNTIME_LISTS_H_
#define ALLOMON_TESTS_RUNTIME_LISTS_H_

#include "runtime/heap.h"

namespace allomon::gc {

struct Cell {
  long head;
  Field<Cell> tail;
};

// length - 1, ..., 1, 0.
inline Local<Cell> MakeList(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
  return list;
}

inline long Sum(Handle<Cell> list) {
  long sum = 0;
  for (Local<Cell> cell = list; cell; cell = cell->tail) sum += cell->head;
  return sum;
}

// Always collects in slices, most of them on the heap's own thread.
inline HeapOptions InBackground() {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.growth_floor_bytes = 1 << 20;
  options.incremental_from_bytes = 0;
  return options;
}

}  // namespace allomon::gc

#endif  // ALLOMON_TESTS_RUNTIME_LISTS_H_
