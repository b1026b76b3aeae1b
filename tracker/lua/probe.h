// Examines a Lua interpreter: a state of its own runs some lines, and its traces in memory and on
// the native stack are compared with the layout that a walk needs.
#ifndef ALLOMON_TRACKER_LUA_PROBE_H_
#define ALLOMON_TRACKER_LUA_PROBE_H_

#include <cstddef>
#include <cstdint>

#include "tracker/lua/layout.h"

namespace allomon::lua {

// Functions of Lua 5.4 as in its headers, with void* for states.
struct LuaFunctions {
  using Allocate = void* (*)(void* data, void* block, size_t old_bytes, size_t bytes);
  using Read = const char* (*)(void* state, void* data, size_t* bytes);
  using Native = int (*)(void* state);

  void* (*newstate)(Allocate allocate, void* data);
  void (*close)(void* state);
  double (*version)(void* state);  // 504
  int (*load)(void* state, Read read, void* data, const char* name, const char* mode);
  void (*pushcclosure)(void* state, Native function, int upvalues);
  int (*pcallk)(void* state, int arguments, int results, int handler, intptr_t context,
                int (*continuation)(void* state, int status, intptr_t context));
  void* (*newthread)(void* state);
  void (*xmove)(void* from, void* to, int values);
  int (*resume)(void* state, void* from, int arguments, int* results);
};

// Fills in *lua and returns null.  On failure returns the reason: a static text to follow "Lua's
// frames are not shown: ".  One thread at a time.  Calls no malloc.  Cost: 100 us, and a megabyte
// of addresses meanwhile.
const char* ProbeLua(const LuaFunctions& functions, RunningLua* lua);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_PROBE_H_
