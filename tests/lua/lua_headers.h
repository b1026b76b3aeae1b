// Lua's own headers, as the library that is linked was compiled: that of C, or that of C++, whose
// functions have C's names in Debian 12 (5.4.4) and those of C++ from Debian 13 on (5.4.7).
#ifndef ALLOMON_TESTS_LUA_LUA_HEADERS_H_
#define ALLOMON_TESTS_LUA_LUA_HEADERS_H_

#ifdef ALLOMON_LUA_OF_CXX

// Only the header itself has its version, so it is read twice, first to no effect.
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
namespace allomon::testing::unused {
#include <lua5.4/lua.h>
}
#undef lua_h

#endif

#if defined(ALLOMON_LUA_OF_CXX) && LUA_VERSION_RELEASE_NUM >= 50407
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#else
#include <lua5.4/lua.hpp>
#endif

#include "allomon/lua.h"  // which calls what these declare

#endif  // ALLOMON_TESTS_LUA_LUA_HEADERS_H_
