#include "tracker/lua/attach.h"

#include <atomic>

#include "tracker/base/check.h"
#include "tracker/callstack/interpreters.h"
#include "tracker/lua/describe.h"
#include "tracker/lua/frames.h"

// Functions that an interpreter exports to modules that it loads; null if there is none.  The last
// one is new in 5.4.3.
extern "C" {
void* lua_newstate(allomon::lua::LuaFunctions::Allocate allocate, void* data) __attribute__((weak));
void lua_close(void* state) __attribute__((weak));
double lua_version(void* state) __attribute__((weak));
int lua_load(void* state, allomon::lua::LuaFunctions::Read read, void* data, const char* name,
             const char* mode) __attribute__((weak));
void lua_pushcclosure(void* state, allomon::lua::LuaFunctions::Native function, int upvalues)
    __attribute__((weak));
int lua_pcallk(void* state, int arguments, int results, int handler, intptr_t context,
               int (*continuation)(void*, int, intptr_t)) __attribute__((weak));
void* lua_newthread(void* state) __attribute__((weak));
void lua_xmove(void* from, void* to, int values) __attribute__((weak));
int lua_resume(void* state, void* from, int arguments, int* results) __attribute__((weak));
void lua_closeslot(void* state, int index) __attribute__((weak));
}

namespace allomon::lua {
namespace {

RunningLua g_lua;

enum State { kNone, kBusy, kAttached };
std::atomic<State> g_state{kNone};

bool IsThere() {
  return lua_newstate != nullptr && lua_close != nullptr && lua_version != nullptr &&
         lua_load != nullptr && lua_pushcclosure != nullptr && lua_pcallk != nullptr &&
         lua_newthread != nullptr && lua_xmove != nullptr && lua_resume != nullptr &&
         lua_closeslot != nullptr;
}

const char* Attach(const LuaFunctions& functions) {
  const char* const why_not = ProbeLua(functions, &g_lua);
  if (why_not != nullptr) return why_not;
  const bool has_room = internal::RegisterInterpreter(
      {sizeof(internal::Interpreter), &g_lua, nullptr, NextFrame, DescribeFunction, BeginWalk});
  return has_room ? nullptr : "four other interpreters are registered already";
}

}  // namespace

const char* AttachLua() {
  if (!IsThere()) return nullptr;
  return AttachLuaBy({lua_newstate, lua_close, lua_version, lua_load, lua_pushcclosure, lua_pcallk,
                      lua_newthread, lua_xmove, lua_resume});
}

const char* AttachLuaBy(const LuaFunctions& functions) {
  State none = kNone;
  if (!g_state.compare_exchange_strong(none, kBusy)) {
    return none == kAttached ? nullptr : "another thread attaches it";
  }
  const char* const why_not = Attach(functions);
  ALLOMON_DCHECK_EQ("inv.lua.once", g_state.load(), kBusy);
  g_state.store(why_not == nullptr ? kAttached : kNone);
  return why_not;
}

}  // namespace allomon::lua
