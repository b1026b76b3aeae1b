// An object that stays where it is while C code has its address.
//
//   const gc::Pinned<gc::Bytes> buffer(bytes);
//   gc::NativeRegion native;
//   ssize_t n = read(fd, buffer->data(), buffer->length());
//
// For a call that neither blocks nor allocates, NoAllocation (heap.h) costs less.  For buffers that
// are given to C again and again, make_pinned_bytes() makes ones that never move.
#ifndef ALLOMON_RUNTIME_PINNED_H_
#define ALLOMON_RUNTIME_PINNED_H_

#include "runtime/array.h"
#include "runtime/handle.h"

namespace allomon::gc {
namespace internal {
void Settle(Object* object);
Object* MakeSettled(uintptr_t header, uint64_t length, uint64_t words);
}  // namespace internal

// The object does not move, and lives, as long as the Pinned; its references may, so C code gets
// numbers and bytes.  Cost: for a young object, a minor collection; for an old one nothing. Belongs
// to the thread that makes it.
template <typename T>
class Pinned {
 public:
  // A safepoint, at which other objects move, and which throws the exceptions of callbacks.  Aborts
  // in NoAllocation and NativeRegion.
  explicit Pinned(Handle<T> object) : object_(object) { internal::Settle(internal::RawOf(object)); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  T* get() const { return object_.operator->(); }
  T* operator->() const { return get(); }

 private:
  const Local<T> object_;
};

// Makes `length` zero bytes that never move, however few they are.  Cost: a block of the backend
// and 32 bytes.
inline Local<Bytes> make_pinned_bytes(size_t length) {
  return internal::LocalOf<Bytes>(
      internal::MakeSettled(internal::HeaderFor<Bytes>(), length, internal::BytesToWords(length)));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_PINNED_H_
