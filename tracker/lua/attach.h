// Finds a Lua interpreter in this process, and has call stacks show its frames.
#ifndef ALLOMON_TRACKER_LUA_ATTACH_H_
#define ALLOMON_TRACKER_LUA_ATTACH_H_

#include "tracker/lua/probe.h"

namespace allomon::lua {

// Called once, before the program's main.  The interpreter is the one that the program itself is,
// or is linked with, and shows its functions to others.  Null if there is none, or if its frames
// are shown from now on; else why they are not: a static text.
const char* AttachLua();

// The same for an interpreter that the program shows to nobody else, or loads later.  Null also
// where one is attached already, which must be the same: there is one of a process.
const char* AttachLuaBy(const LuaFunctions& functions);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_ATTACH_H_
