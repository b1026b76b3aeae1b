// Where the runtime's memory comes from: mapped address space for what must not move,
// the allocator's backend for everything else.  Never the replaceable malloc, so the
// runtime does not appear in its own profile.
#ifndef ALLOMON_RUNTIME_INTERNAL_MEMORY_H_
#define ALLOMON_RUNTIME_INTERNAL_MEMORY_H_

#include <cstddef>
#include <new>
#include <vector>

#include "allomon_backend.h"

namespace allomon::gc::internal {

// Zero-filled address space that takes memory when it is touched; nullptr on failure.
void* ReserveMemory(size_t size_bytes);
void ReleaseMemory(void* start, size_t size_bytes);
// Gives the pages back; they read as zero afterwards.
void ForgetMemory(void* start, size_t size_bytes);

template <typename T>
struct BackendAllocator {
  using value_type = T;
  BackendAllocator() = default;
  template <typename U>
  BackendAllocator(const BackendAllocator<U>&) {}  // NOLINT: rebinding is implicit

  T* allocate(size_t count) {
    void* block = backend::Malloc(count * sizeof(T));
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t) { backend::Free(block); }
  friend bool operator==(BackendAllocator, BackendAllocator) { return true; }
  friend bool operator!=(BackendAllocator, BackendAllocator) { return false; }
};

template <typename T>
using Vector = std::vector<T, BackendAllocator<T>>;

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_MEMORY_H_
