// Checks and copies structures of the C interface, whose callers may be older or newer than this
// code.
#ifndef ALLOMON_TRACKER_C_STRUCTURES_H_
#define ALLOMON_TRACKER_C_STRUCTURES_H_

#include <cstddef>
#include <cstring>

#include "tracker/base/check.h"

namespace allomon::c {

// No structure of any version is larger: a larger size is an uninitialised field.
inline constexpr size_t kMostStructBytes = 4096;

// Whether the caller's structure has all fields of the first version, `first_bytes` of them, and
// sets nothing unknown to this code: fields after those of T must be 0.
template <typename T>
bool IsKnown(const T* given, size_t first_bytes) {
  if (given == nullptr || given->struct_size < first_bytes) return false;
  if (given->struct_size > kMostStructBytes) return false;
  const char* const bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(T); i < given->struct_size; ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

// Copies the caller's fields over the defaults in *own.  False: invalid argument.
template <typename T>
bool CopyIn(const T* given, size_t first_bytes, T* own) {
  if (!IsKnown(given, first_bytes)) return false;
  memcpy(static_cast<void*>(own), given,
         given->struct_size < sizeof(T) ? given->struct_size : sizeof(T));
  own->struct_size = sizeof(T);
  return true;
}

// Stores the fields for which the caller has room; its struct_size stays.  False: the structure is
// smaller than the first version.
template <typename T>
bool CopyOut(const T& own, size_t first_bytes, T* given) {
  if (given == nullptr || given->struct_size < first_bytes) return false;
  const size_t room = given->struct_size < sizeof(T) ? given->struct_size : sizeof(T);
  constexpr size_t kHead = sizeof(own.struct_size);
  ALLOMON_DCHECK_LE("inv.c.structure", kHead, room);
  memcpy(reinterpret_cast<char*>(given) + kHead, reinterpret_cast<const char*>(&own) + kHead,
         room - kHead);
  return true;
}

}  // namespace allomon::c

#endif  // ALLOMON_TRACKER_C_STRUCTURES_H_
