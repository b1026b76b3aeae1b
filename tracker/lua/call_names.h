// Finds the name by which a call refers to its function.  Lua's functions have no names of their
// own.
#ifndef ALLOMON_TRACKER_LUA_CALL_NAMES_H_
#define ALLOMON_TRACKER_LUA_CALL_NAMES_H_

#include <cstdint>

#include "tracker/lua/object_reader.h"

namespace allomon::lua {

// Maximum length of a name in bytes.
inline constexpr size_t kMostNameBytes = 200;

// Finds the name of the function that the instruction `index` of the code at `prototype` calls: the
// local variable, upvalue, global, field or method that it comes from, as debug.traceback() does.
// False: it has no name, or cannot be read.  Cost: some loads for each earlier instruction.
bool FindCalledName(uintptr_t prototype, int32_t index, ObjectReader* reader, Text* name);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_CALL_NAMES_H_
