// A number that an object keeps for life although collections move it: for hash tables whose keys
// are compared by identity.
//
//   size_t bucket = gc::identity_hash(key) % buckets->length();
//
// The hash of a Value that is no reference is that of its number, so equal (==) Values have equal
// hashes.  Two objects may have the same hash.
#ifndef ALLOMON_RUNTIME_IDENTITY_H_
#define ALLOMON_RUNTIME_IDENTITY_H_

#include <cstdint>

#include "runtime/handle.h"

namespace allomon::gc {
namespace internal {
uint64_t IdentityHash(Object* object);
}  // namespace internal

// Called on an attached thread.  Not a safepoint.  Cost: a lock and a look-up.  An object that is
// young at its first call takes about 24 bytes outside the heap until it dies.  May throw
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
