// Finds a Lua interpreter in this process, and makes call stacks show its frames.
#ifndef ALLOMON_TRACKER_LUA_ATTACH_H_
#define ALLOMON_TRACKER_LUA_ATTACH_H_

#include "tracker/lua/probe.h"

namespace allomon::lua {

// Attaches the Lua interpreter that is the program itself or linked with it, if its functions are
// exported.  Called once, before the program's main.  Returns null if there is none, or if its
// frames are shown from now on; otherwise the reason why they are not, a static text.
const char* AttachLua();

// The same for an interpreter that the program does not export, or loads later.  Also returns null
// if one is attached already; it must be the same, since a process has only one.
const char* AttachLuaBy(const LuaFunctions& functions);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_ATTACH_H_
