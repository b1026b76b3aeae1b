// Names and source lines of Lua's functions.
#ifndef ALLOMON_TRACKER_LUA_DESCRIBE_H_
#define ALLOMON_TRACKER_LUA_DESCRIBE_H_

#include "tracker/callstack/interpreters.h"

namespace allomon::lua {

// Describes a function, for an interpreter (callstack/interpreters.h).  A function has one name:
// the one that the first call seen has used, or "main chunk", or "<app.lua:12>".
int DescribeFunction(void* lua, const internal::InterpretedFrame* frame,
                     internal::PlaceDescription* description);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_DESCRIBE_H_
