// Includes Lua's own headers as the linked library was compiled: for C or for C++.  Its functions
// have C names in Debian 12 (5.4.4), and C++ names since Debian 13 (5.4.7).
#ifndef ALLOMON_TESTS_LUA_LUA_HEADERS_H_
#define ALLOMON_TESTS_LUA_LUA_HEADERS_H_

#ifdef ALLOMON_LUA_OF_CXX

// Only the header itself has its version, so it is read twice, the first time without effect.
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

#include "allomon/lua.h"  // calls the functions declared above

#endif  // ALLOMON_TESTS_LUA_LUA_HEADERS_H_
