// An object that does not move while C code has its address.
//
//   const gc::Pinned<gc::Bytes> buffer(bytes);
//   gc::NativeRegion native;
//   ssize_t n = read(fd, buffer->data(), buffer->length());
//
// NoAllocation (heap.h) costs less for a call that neither blocks nor allocates.
// make_pinned_bytes() makes buffers that never move, for repeated calls.
#ifndef ALLOMON_RUNTIME_PINNED_H_
#define ALLOMON_RUNTIME_PINNED_H_

#include "runtime/array.h"
#include "runtime/handle.h"
#include "runtime/internal/collect/allocate.h"

namespace allomon::gc {

// Keeps an object alive and unmoved while the Pinned, a variable on the stack, is in scope.
// Objects that it refers to may move, so C code may be given numbers and bytes only.  Cost: zero.
// Any Local does the same until its last use; a Pinned does so until its end.
template <typename T>
class Pinned {
 public:
  ALLOMON_GC_INLINE explicit Pinned(Handle<T> object) : object_(object) {}
  // The compiler keeps the reference up to here.
  ALLOMON_GC_INLINE ~Pinned() { asm volatile("" : : "g"(internal::RawOf(object_))); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  static void* operator new(size_t) = delete;

  T* get() const { return object_.operator->(); }
  T* operator->() const { return get(); }

 private:
  const Local<T> object_;
};

// Makes `length` zero bytes that never move, however short they are.  Cost: a block of the backend
// and 32 bytes.
inline Local<Bytes> make_pinned_bytes(size_t length) {
  return internal::LocalOf<Bytes>(internal::NoTailCall(
      internal::MakeSettled(internal::HeaderFor<Bytes>(), length, internal::BytesToWords(length))));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_PINNED_H_
