// Which function code is, by what people see of it.
#ifndef ALLOMON_TRACKER_LUA_FUNCTION_IDENTITY_H_
#define ALLOMON_TRACKER_LUA_FUNCTION_IDENTITY_H_

#include <cstdint>

#include "tracker/lua/object_reader.h"

namespace allomon::lua {

// Of a file's name, and of a program's first line where the program was a text.
inline constexpr size_t kMostFileBytes = 1900;
inline constexpr size_t kMostTextBytes = 60;

// What Lua keeps of where code comes from: '@' and a file, '=' and a name that the host has chosen,
// or the program itself.
struct Source {
  Text text;  // without the first character of the first two, as far as it is shown
  char kind;  // '@', '='; 0: the program
  bool is_cut;
};
bool ReadSource(uintptr_t string, ObjectReader* reader, Source* source);

// A number of the source, as it is shown, and of the place in it.  Code has no address that lasts:
// a collector frees it, and says so to nobody.  So the contents are the identity, and nothing need
// be forgotten.  False: the source cannot be read.
bool IdentityOf(const Prototype& prototype, ObjectReader* reader, uintptr_t* identity);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_FUNCTION_IDENTITY_H_
