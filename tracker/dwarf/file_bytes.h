// Reads parts of a file that is in memory.  What lies beyond its end is refused, whatever the
// numbers of the file are.  Pure functions.
#ifndef ALLOMON_TRACKER_DWARF_FILE_BYTES_H_
#define ALLOMON_TRACKER_DWARF_FILE_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string_view>

namespace allomon {

using Bytes = std::string_view;

// Copies a value from `offset`, which may have any alignment.  False if its end is not in `bytes`.
template <typename Value>
bool ReadAt(Bytes bytes, uint64_t offset, Value* value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(*value)) return false;
  std::memcpy(value, bytes.data() + offset, sizeof(*value));
  return true;
}

// Empty if it is not there as a whole.
inline Bytes Cut(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return {};
  return bytes.substr(offset, size);
}

}  // namespace allomon

#endif  // ALLOMON_TRACKER_DWARF_FILE_BYTES_H_
