// Lua's functions and lines in call stacks, for a program that embeds Lua 5.4.3 or a later 5.4.
//
//   #include <lua.h>
//   #include <allomon/lua.h>
//
//   allomon_lua_attach();  // once, at any time
//
// From then on the stacks of all states have the Lua functions that they run, in all threads and
// coroutines, also of states that were made before.  States need not be told apart, and nothing is
// changed in them: the allocation function stays the program's own, and no hook is set.
//
// A preloaded library finds the Lua that a program is or is linked with, if it exports its
// functions (lua5.4 itself does, and programs that load modules of C; a liblua5.4.so always).  This
// call is for the others: Lua inside a program that exports nothing, Lua that is loaded by dlopen,
// and programs that link Allomon.
//
// How the interpreter of this very build lies in memory and on the stack is tried out with a state
// of its own, which takes 100 us.  Where that does not fit nothing is shown.
#ifndef ALLOMON_ALLOMON_LUA_H_
#define ALLOMON_ALLOMON_LUA_H_

#include <stddef.h>

#include "allomon/in_process.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// A function of Lua's C interface, whatever it takes.
typedef void (*allomon_lua_function)(void);

// Functions of those names; all of one Lua.
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
  const char* why_not;  // set where attaching fails: one line, static
} allomon_lua;
#define ALLOMON_LUA_DEFAULTS \
  { sizeof(allomon_lua), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

// Shows the frames of this Lua for as long as the process runs; its code must not be unloaded. Once
// one is attached, does nothing and answers ALLOMON_OK: there is one in a process.  Fails with
// ALLOMON_INVALID_ARGUMENT where a function is missing, and ALLOMON_NOT_FOUND where its frames
// cannot be shown.  Not inside of an allocation function of Lua.
ALLOMON_C_FUNCTION(allomon_status, allomon_lua_attach_by, (allomon_lua * lua), (lua),
                   ALLOMON_ABSENT)

// The same by the functions that the caller is linked with.
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
