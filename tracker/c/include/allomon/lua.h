// Lua's functions and lines in call stacks, for a program that embeds Lua 5.4.3 or a later 5.4.
//
//   #include <lua.h>
//   #include <allomon/lua.h>
//
//   allomon_lua_attach();  // once, at any time
//
// From then on the stacks of all states show the Lua functions that they run, in all threads and
// coroutines, also of states that were made before.  States need not be registered, and nothing in
// them is changed: the allocation function stays the program's own, and no hook is set.
//
// A preloaded library finds the Lua in a program or in its libraries, if its functions are exported
// (lua5.4 itself exports them, and programs that load modules of C; a liblua5.4.so always).  This
// call is for other cases: Lua inside a program that exports nothing, Lua that is loaded by dlopen,
// and programs that link Allomon.
//
// A trial with a state of its own, which takes 100 us, finds the layout of this build of the
// interpreter in memory and on the stack.  If the layout is not one that Allomon knows, nothing is
// shown.
#ifndef ALLOMON_ALLOMON_LUA_H_
#define ALLOMON_ALLOMON_LUA_H_

#include <stddef.h>

#include "allomon/in_process.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// A function of Lua's C interface, cast to a common type.
typedef void (*allomon_lua_function)(void);

// Lua's functions of these names; all must belong to one Lua.
typedef struct allomon_lua {
  size_t struct_size;
  allomon_lua_function newstate;
  allomon_lua_function close;
  allomon_lua_function version;
  allomon_lua_function load;
  allomon_lua_function pushcclosure;
  allomon_lua_function pcallk;
  allomon_lua_function newthread;
  allomon_lua_function xmove;
  allomon_lua_function resume;
  const char* why_not;  // set if attaching fails: one line, static
} allomon_lua;
#define ALLOMON_LUA_DEFAULTS \
  { sizeof(allomon_lua), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

// Shows the frames of this Lua for as long as the process runs; its code must not be unloaded.  If
// one is attached already, does nothing and returns ALLOMON_OK: a process has only one.  Fails with
// ALLOMON_INVALID_ARGUMENT if a function is missing, and ALLOMON_NOT_FOUND if its frames cannot be
// shown.  Not inside of an allocation function of Lua.
ALLOMON_C_FUNCTION(allomon_status, allomon_lua_attach_by, (allomon_lua * lua), (lua),
                   ALLOMON_ABSENT)

// The same with the functions that the caller is linked with.
#if defined(LUA_VERSION_NUM) && LUA_VERSION_NUM == 504
static inline allomon_status allomon_lua_attach(void) {
  allomon_lua lua = ALLOMON_LUA_DEFAULTS;
  lua.newstate = (allomon_lua_function)lua_newstate;
  lua.close = (allomon_lua_function)lua_close;
  lua.version = (allomon_lua_function)lua_version;
  lua.load = (allomon_lua_function)lua_load;
  lua.pushcclosure = (allomon_lua_function)lua_pushcclosure;
  lua.pcallk = (allomon_lua_function)lua_pcallk;
  lua.newthread = (allomon_lua_function)lua_newthread;
  lua.xmove = (allomon_lua_function)lua_xmove;
  lua.resume = (allomon_lua_function)lua_resume;
  return allomon_lua_attach_by(&lua);
}
#endif

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_LUA_H_
