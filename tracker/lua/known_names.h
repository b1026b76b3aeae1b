// Names that functions were met by, so that each keeps its first one.
//
// Lock free, never allocates, async-signal-safe, any thread.
#ifndef ALLOMON_TRACKER_LUA_KNOWN_NAMES_H_
#define ALLOMON_TRACKER_LUA_KNOWN_NAMES_H_

#include <cstddef>
#include <cstdint>

namespace allomon::lua {

// Of a name, so many bytes are kept; the rest is left out.
inline constexpr size_t kKnownNameBytes = 47;

struct KnownName {
  char text[kKnownNameBytes];
  uint8_t bytes;  // 0: the function has no name
};

// The name of a function, by its identity: `name` if it is new.  A table of 4,096 functions; where
// it is full, and while another thread writes this very entry, `name` stands.  Null: it stands.
const KnownName* KeepName(uintptr_t function, const KnownName& name);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_KNOWN_NAMES_H_
