#include "runtime/locals.h"

#include <cstring>
#include <new>

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Takes the memory from the backend: malloc might sample it, which runs user code that may collect.
Slot* TakeRootBlock(size_t count) {
  HeapCore* const heap = CurrentMutator().heap;
  if (count > (SIZE_MAX - sizeof(RootBlock)) / sizeof(Slot)) throw std::bad_alloc();
  void* const memory = backend::Malloc(sizeof(RootBlock) + count * sizeof(Slot));
  if (memory == nullptr) throw std::bad_alloc();
  RootBlock* const block = new (memory) RootBlock{count, nullptr, nullptr, heap};
  memset(static_cast<void*>(block->slots()), 0, count * sizeof(Slot));
  heap->AddRootBlock(block);
  return block->slots();
}

void ReturnRootBlock(Slot* slots) noexcept {
  RootBlock* const block = reinterpret_cast<RootBlock*>(slots) - 1;
  block->heap->RemoveRootBlock(block);
  backend::Free(block);
}

}  // namespace allomon::gc::internal
