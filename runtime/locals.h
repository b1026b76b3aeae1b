// Makes std::vector<Local<T>>, std::deque<Local<T>> and all other users of std::allocator<Local<T>>
// safe: the memory of this allocator is a root of the heap.
//
// std::stable_sort, std::inplace_merge and std::stable_partition take their buffer elsewhere: the
// functions that they call must not be safepoints.
//
// The references are precise.  A slot that no longer holds an element keeps the last object it
// referred to alive.  Containers with nodes (std::list, std::map) rebind the allocator to their
// node type and are not covered: let them hold Roots.
#ifndef ALLOMON_RUNTIME_LOCALS_H_
#define ALLOMON_RUNTIME_LOCALS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/handle.h"

namespace allomon::gc::internal {

// Returns `count` null references, which are roots of the heap that the thread is attached to.
// Throws std::bad_alloc; aborts with rule.attached.
Slot* TakeRootBlock(size_t count);
// Called on any thread.
void ReturnRootBlock(Slot* slots) noexcept;

}  // namespace allomon::gc::internal

// Only a thread that is attached to a heap may allocate; any thread may deallocate, before the heap
// ends.
template <typename T>
class std::allocator<allomon::gc::Local<T>> {
 public:
  using value_type = allomon::gc::Local<T>;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  allocator() = default;
  template <typename U>
  allocator(const std::allocator<U>&) noexcept {}  // NOLINT: rebinding is implicit

  value_type* allocate(size_t count) {
    static_assert(sizeof(value_type) == sizeof(allomon::gc::internal::Slot));
    return reinterpret_cast<value_type*>(allomon::gc::internal::TakeRootBlock(count));
  }
  void deallocate(value_type* block, size_t) noexcept {
    allomon::gc::internal::ReturnRootBlock(reinterpret_cast<allomon::gc::internal::Slot*>(block));
  }
  // The members that std::allocator has in C++17, and that libstdc++ still calls.
  template <typename U, typename... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
  }
  template <typename U>
  void destroy(U* place) {
    place->~U();
  }
  size_t max_size() const noexcept { return SIZE_MAX / sizeof(value_type) / 2; }

  friend bool operator==(const allocator&, const allocator&) { return true; }
  friend bool operator!=(const allocator&, const allocator&) { return false; }
};

#endif  // ALLOMON_RUNTIME_LOCALS_H_
