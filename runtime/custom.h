// Memory outside the heap that belongs to a managed object: a mapped file, a buffer of a
// C library.
#ifndef ALLOMON_RUNTIME_CUSTOM_H_
#define ALLOMON_RUNTIME_CUSTOM_H_

#include <cstdint>

#include "runtime/handle.h"

namespace allomon::gc {

// Holds a pointer that the collector does not follow; made by make_custom().
class CustomBlock {
 public:
  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  friend Local<CustomBlock> make_custom(void*, uint64_t, void (*)(void*));
  friend void adjust_custom(Local<CustomBlock>, uint64_t);
  void* data_;
  uint64_t bytes_;
};

// Hands `data` to the heap.  release(data) is called once, at a safepoint of some thread, after the
// block was found dead, or when the heap is destroyed.  `bytes` outside the heap drive collections
// as if they were in the heap.  Trackers see these bytes with source kCustom, without a header
// word; the block itself is sampled as kNormal.  If the call throws (std::bad_alloc, the exception
// of a callback), the caller still owns `data`.
Local<CustomBlock> make_custom(void* data, uint64_t bytes, void (*release)(void* data));

// Tells the heap that the memory of the block has now this many bytes.  A safepoint if they are
// more: throws what make() throws, and then the block has them nevertheless.  Trackers do not see
// the change.
void adjust_custom(Handle<CustomBlock> block, uint64_t bytes);

namespace internal {

template <>
struct TypeInfoOf<CustomBlock> {
  alignas(8) static constexpr TypeInfo kInfo = {"CustomBlock", 0, nullptr, 0, 2, Kind::kFixed};
};

}  // namespace internal
}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_CUSTOM_H_
