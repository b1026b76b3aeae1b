// Identifies a function's code by its source, as people see it.
#ifndef ALLOMON_TRACKER_LUA_FUNCTION_IDENTITY_H_
#define ALLOMON_TRACKER_LUA_FUNCTION_IDENTITY_H_

#include <cstdint>

#include "tracker/lua/object_reader.h"

namespace allomon::lua {

// Maximum lengths of a file's name, and of the first line of a program given as text.
inline constexpr size_t kMostFileBytes = 1900;
inline constexpr size_t kMostTextBytes = 60;

// Lua's name for the origin of code: '@' and a file, '=' and a name that the host has chosen, or
// the program itself.
struct Source {
  Text text;  // the shown part; without a leading '@' or '='
  char kind;  // '@', '='; 0: the program
  bool is_cut;
};
bool ReadSource(uintptr_t string, ObjectReader* reader, Source* source);

// Computes a number from the source as shown and the place in it.  Code has no lasting address,
// since the collector frees it without notice.  So the contents are the identity, and nothing needs
// to be forgotten.  False: the source cannot be read.
bool IdentityOf(const Prototype& prototype, ObjectReader* reader, uintptr_t* identity);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_FUNCTION_IDENTITY_H_
