// Lines of Lua's instructions.
#ifndef ALLOMON_TRACKER_LUA_LINES_H_
#define ALLOMON_TRACKER_LUA_LINES_H_

#include <cstdint>

#include "tracker/lua/object_reader.h"

namespace allomon::lua {

// Sets the line of the instruction `index`, from 0; that of the function for -1, before the first.
// 0: the code has no lines.  False: what says so is damaged.  Cost: a load for each instruction
// behind the last mark, of which there is one in 128.
bool LineOf(const Prototype& prototype, int32_t index, ObjectReader* reader, uint32_t* line);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_LINES_H_
