// The runtime's sources of memory: mapped address space for memory that must not move, and the
// allocator's backend for all other memory except Globals and closures.  The replaceable malloc is
// not used, so the runtime does not appear in its own profile.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_MEMORY_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_MEMORY_H_

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "allomon_backend.h"

namespace allomon::gc::internal {

// Returns zero-filled address space whose memory is allocated on first touch; nullptr on failure.
void* ReserveMemory(size_t size_bytes);
void ReleaseMemory(void* start, size_t size_bytes);
// Gives the pages back; they read as zero afterwards.
void ForgetMemory(void* start, size_t size_bytes);
// The same for the pages that lie in the memory entirely.
void ForgetWholePages(void* start, size_t size_bytes);

// Tells the system that all of the memory will be used, so it may use huge pages, one fault each.
// Does nothing if there are no huge pages or the range contains no whole one.
void PreferHugePages(void* start, size_t size_bytes);
// Populates, by one system call, all pages that the memory touches, the first and the last
// included.  Cheaper than a fault for each.  Does nothing before Linux 5.14.
void TakePages(void* start, size_t size_bytes);

template <typename T>
struct BackendAllocator {
  using value_type = T;
  BackendAllocator() = default;
  // `prepared` is the memory of the first allocation and has exactly its size.
  explicit BackendAllocator(void* prepared) : prepared_(prepared) {}
  template <typename U>
  BackendAllocator(const BackendAllocator<U>&) {}  // NOLINT: rebinding is implicit

  T* allocate(size_t count) {
    void* block = prepared_ != nullptr ? std::exchange(prepared_, nullptr)
                                       : backend::Malloc(count * sizeof(T));
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t) { backend::Free(block); }
  friend bool operator==(BackendAllocator, BackendAllocator) { return true; }
  friend bool operator!=(BackendAllocator, BackendAllocator) { return false; }

 private:
  void* prepared_ = nullptr;
};

template <typename T>
using Vector = std::vector<T, BackendAllocator<T>>;

// Like vector.reserve(capacity), but returns false instead of throwing.  malloc allocates an
// exception, and its sampling may run user code that collects.  So collections, and code that holds
// a lock or a reference, grow their vectors by this function.
template <typename T>
[[nodiscard]] bool TryReserve(Vector<T>& vector, size_t capacity) {
  if (capacity <= vector.capacity()) return true;
  void* const block = backend::Malloc(capacity * sizeof(T));
  if (block == nullptr) return false;
  Vector<T> larger{BackendAllocator<T>(block)};
  larger.reserve(capacity);
  for (T& element : vector) larger.push_back(std::move(element));
  vector.swap(larger);
  return true;
}

// Like vector.push_back(value), but returns false instead of throwing.
template <typename T>
[[nodiscard]] bool TryPush(Vector<T>& vector, T value) {
  const bool full = vector.size() == vector.capacity();
  if (full && !TryReserve(vector, vector.size() * 2 + 64)) return false;
  vector.push_back(value);
  return true;
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_MEMORY_H_
