// Lua's frames in call stacks.
#include "allomon/lua.h"

#include "tracker/c/structures.h"
#include "tracker/lua/attach.h"

namespace {

using allomon::lua::LuaFunctions;

template <typename T>
void Take(allomon_lua_function function, T* taken) {
  *taken = reinterpret_cast<T>(function);
}

LuaFunctions FunctionsOf(const allomon_lua& lua) {
  LuaFunctions functions;
  Take(lua.newstate, &functions.newstate);
  Take(lua.close, &functions.close);
  Take(lua.version, &functions.version);
  Take(lua.load, &functions.load);
  Take(lua.pushcclosure, &functions.pushcclosure);
  Take(lua.pcallk, &functions.pcallk);
  Take(lua.newthread, &functions.newthread);
  Take(lua.xmove, &functions.xmove);
  Take(lua.resume, &functions.resume);
  return functions;
}

bool HasAll(const allomon_lua& lua) {
  return lua.newstate != nullptr && lua.close != nullptr && lua.version != nullptr &&
         lua.load != nullptr && lua.pushcclosure != nullptr && lua.pcallk != nullptr &&
         lua.newthread != nullptr && lua.xmove != nullptr && lua.resume != nullptr;
}

}  // namespace

allomon_status allomon_lua_attach_by(allomon_lua* lua) {
  allomon_lua given = ALLOMON_LUA_DEFAULTS;
  if (!allomon::c::CopyIn(lua, sizeof(given), &given) || !HasAll(given)) {
    return ALLOMON_INVALID_ARGUMENT;
  }
  given.why_not = allomon::lua::AttachLuaBy(FunctionsOf(given));
  if (given.why_not == nullptr) return ALLOMON_OK;
  lua->why_not = given.why_not;
  return ALLOMON_NOT_FOUND;
}
