// A number that an object keeps as long as it lives, wherever collections move it: for hash tables
// by identity.
//
//   size_t bucket = gc::identity_hash(key) % buckets->length();
//
// Of a Value that is no reference it is the hash of the number, so equal (==) Values have equal
// hashes.  Two objects may have the same one.
#ifndef ALLOMON_RUNTIME_IDENTITY_H_
#define ALLOMON_RUNTIME_IDENTITY_H_

#include <cstdint>

#include "runtime/handle.h"

namespace allomon::gc {
namespace internal {
uint64_t IdentityHash(Object* object);
}  // namespace internal

// On an attached thread.  Not a safepoint.  Cost: a lock and a look-up; an object that is asked
// while it is young takes about 24 bytes outside the heap from then on, until it dies.  May throw
// std::bad_alloc.
template <typename T>
uint64_t identity_hash(Local<T> object) {
  return internal::IdentityHash(internal::RawOf(object));
}
template <typename T>
uint64_t identity_hash(const Root<T>& object) {
  return internal::IdentityHash(internal::RawOf(object));
}
template <typename T>
uint64_t identity_hash(const Field<T>& object) {
  return internal::IdentityHash(internal::RawOf(object));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_IDENTITY_H_
