// What Lua's functions are called, and where they stand.
#ifndef ALLOMON_TRACKER_LUA_DESCRIBE_H_
#define ALLOMON_TRACKER_LUA_DESCRIBE_H_

#include "tracker/callstack/interpreters.h"

namespace allomon::lua {

// The function of an interpreter (callstack/interpreters.h).  A function has one name: what the
// first call that was met has called it, "main chunk", or "<app.lua:12>".
int DescribeFunction(void* lua, const internal::InterpretedFrame* frame,
                     internal::PlaceDescription* description);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_DESCRIBE_H_
