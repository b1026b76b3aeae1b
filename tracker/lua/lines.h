// Lines of Lua's instructions.
#ifndef ALLOMON_TRACKER_LUA_LINES_H_
#define ALLOMON_TRACKER_LUA_LINES_H_

#include <cstdint>

#include "tracker/lua/object_reader.h"

namespace allomon::lua {

// Sets the line of the instruction `index`, from 0; -1, before the first, is the function's line.
// 0: the code has no lines.  False: the table is damaged.  Cost: a load for each instruction after
// the last mark; there is one mark in 128.
bool LineOf(const Prototype& prototype, int32_t index, ObjectReader* reader, uint32_t* line);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_LINES_H_
