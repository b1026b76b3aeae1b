// Keeps the first name that was found for each function.
//
// Lock free, never allocates, async-signal-safe, any thread.
#ifndef ALLOMON_TRACKER_LUA_KNOWN_NAMES_H_
#define ALLOMON_TRACKER_LUA_KNOWN_NAMES_H_

#include <cstddef>
#include <cstdint>

namespace allomon::lua {

// Longer names are cut to this many bytes.
inline constexpr size_t kKnownNameBytes = 47;

struct KnownName {
  char text[kKnownNameBytes];
  uint8_t bytes;  // 0: the function has no name
};

// Returns the name of a function, by its identity; stores `name` if the function is new.  The table
// has room for 4,096 functions.  Returns null if the table is full or another thread is writing
// this very entry: callers then use `name`.
const KnownName* KeepName(uintptr_t function, const KnownName& name);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_KNOWN_NAMES_H_
