// Lua's frames in a program that embeds Debian's liblua5.4, and the bytes that its own allocation
// function counts.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "allomon/interpreter.h"
#include "gtest/gtest.h"
#include "tracker/callstack/capture.h"
#include "tracker/callstack/managed_functions.h"

// Lua's own headers as the linked library was compiled: for C or for C++.  Its functions have C
// names in Debian 12 (5.4.4), and C++ names since Debian 13 (5.4.7).
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

namespace allomon {
namespace {

using BytesByLine = std::map<std::string, size_t>;

constexpr int kMostFrames = 256;

// The counting done by a state's allocation function.
struct Counting {
  enum Mode { kNothing, kByLua, kByWalker };
  Mode mode = kNothing;
  BytesByLine bytes;
  lua_State* running = nullptr;    // kByLua: of the last instruction
  std::vector<std::string> stack;  // kByWalker: the last one's, innermost first; "-": native
};

std::string At(const std::string& file, int line) { return file + ":" + std::to_string(line); }

// Stops at each instruction, so that allocations know which one runs.
void AtInstruction(lua_State* state, lua_Debug*) {
  void* data;
  lua_getallocf(state, &data);
  static_cast<Counting*>(data)->running = state;
}

std::string LineByLua(lua_State* state) {
  lua_Debug call;
  for (int level = 0; state != nullptr && lua_getstack(state, level, &call) != 0; ++level) {
    lua_getinfo(state, "Sl", &call);
    if (call.currentline > 0) return At(call.short_src, call.currentline);
  }
  return "-";
}

__attribute__((noinline)) std::string LineByWalker(Counting* counting, const FrameState& caller) {
  uintptr_t frames[kMostFrames];
  bool truncated = false;
  const size_t count = CaptureCallstack(caller, frames, kMostFrames, &truncated);
  std::string line = "-";
  counting->stack.clear();
  for (size_t i = 0; i < count; ++i) {
    ManagedFunctionName name;
    const bool is_lua = FindManagedFunction(frames[i], &name);
    if (is_lua) counting->stack.push_back(At(std::string(name.file), name.line));
    if (is_lua && line == "-") line = counting->stack.back();
    if (!is_lua) counting->stack.push_back("-");
  }
  return line;
}

__attribute__((noinline)) void* Allocate(void* data, void* block, size_t, size_t bytes) {
  Counting& counting = *static_cast<Counting*>(data);
  if (counting.mode == Counting::kByLua) counting.bytes[LineByLua(counting.running)] += bytes;
  if (counting.mode == Counting::kByWalker) {
    counting.bytes[LineByWalker(&counting, ALLOMON_CALLER_FRAME())] += bytes;
  }
  if (bytes != 0) return realloc(block, bytes);
  free(block);
  return nullptr;
}

class Lua {
 public:
  Lua() : state_(lua_newstate(Allocate, &counting_)) {
    luaL_openlibs(state_);
    lua_gc(state_, LUA_GCSTOP);  // a collection would shrink stacks, and their regrowth would be
                                 // charged
    lua_checkstack(state_, 1000);
  }
  ~Lua() { lua_close(state_); }
  Lua(const Lua&) = delete;
  Lua& operator=(const Lua&) = delete;

  lua_State* state() { return state_; }
  Counting& counting() { return counting_; }

  void Run(const std::string& text, Counting::Mode mode) {
    ASSERT_EQ(luaL_loadbuffer(state_, text.data(), text.size(), "=app.lua"), LUA_OK)
        << lua_tostring(state_, -1);
    if (mode == Counting::kByLua) lua_sethook(state_, AtInstruction, LUA_MASKCOUNT, 1);
    counting_.mode = mode;
    const int status = lua_pcall(state_, 0, 0, 0);
    counting_.mode = Counting::kNothing;
    lua_sethook(state_, nullptr, 0, 0);
    ASSERT_EQ(status, LUA_OK) << lua_tostring(state_, -1);
  }

 private:
  Counting counting_;
  lua_State* const state_;
};

constexpr char kProgram[] =
    "local kept = {}\n"
    "local function tables(n)\n"
    "  local a = {}\n"
    "  local b = { n, n + 1, { x = n, y = n },\n"
    "    z = { n },\n"
    "    w = {} }\n"
    "  a[1] = b\n"
    "  for i = 1, n do a[i] = { i } end\n"
    "  a.name = 'x' .. n\n"
    "  return a\n"
    "end\n"
    "local function lists(...)\n"
    "  local t = { ... }\n"
    "  local u = { kept, ... }\n"
    "  return table.pack(t, u, ...)\n"
    "end\n"
    "local function closures(n)\n"
    "  local function f() n = n + 1 return n end\n"
    "  local g = function() return f end\n"
    "  return { f, g }\n"
    "end\n"
    "local function texts(n)\n"
    "  local s = string.rep('ab', n)\n"
    "  s = s .. n .. 'c'\n"
    "  s = string.format('%s %d', s, n)\n"
    "  s = string.gsub(s, 'b', function(c)\n"
    "    kept[#kept + 1] = { c }\n"
    "    return c .. c\n"
    "  end)\n"
    "  table.sort({ 3, 1, 2 }, function(x, y)\n"
    "    kept[#kept + 1] = x .. 'sorted' .. y\n"
    "    return x < y\n"
    "  end)\n"
    "  return tostring(n + 0.5)\n"
    "end\n"
    "for n = 1, 30 do\n"
    "  kept[n] = tables(n)\n"
    "  kept[n + 100] = lists(n, n, kept)\n"
    "  kept[n + 200] = closures(n)\n"
    "  local ok = pcall(function()\n"
    "    kept[n + 300] = texts(n)\n"
    "    error({ n })\n"
    "  end)\n"
    "  kept[n + 400] = setmetatable({}, { __index = function(_, k) return { k } end })[n]\n"
    "end\n";

uint64_t LostWalks() {
  allomon_interpreter_statistics statistics = ALLOMON_INTERPRETER_STATISTICS_DEFAULTS;
  EXPECT_EQ(allomon_interpreters_statistics(&statistics), ALLOMON_OK);
  return statistics.lost;
}

double OtherVersion(void*) { return 505; }

// First: nothing is attached yet.
TEST(Embedded, OtherVersionsAreGivenUp) {
  allomon_lua lua = ALLOMON_LUA_DEFAULTS;
  EXPECT_EQ(allomon_lua_attach_by(&lua), ALLOMON_INVALID_ARGUMENT);
  lua.newstate = lua.close = lua.load = lua.pushcclosure = lua.pcallk = lua.newthread = lua.xmove =
      lua.resume = lua.version = reinterpret_cast<allomon_lua_function>(OtherVersion);
  EXPECT_EQ(allomon_lua_attach_by(&lua), ALLOMON_NOT_FOUND);
  EXPECT_STREQ(lua.why_not, "only versions 5.4.3 to 5.4.8 are known");
}

TEST(Embedded, AttachesOnce) {
  EXPECT_EQ(allomon_lua_attach(), ALLOMON_OK);
  EXPECT_EQ(allomon_lua_attach(), ALLOMON_OK);
}

TEST(Embedded, BytesByLineAreThoseThatLuaCounts) {
  Lua counted;
  counted.Run(kProgram, Counting::kByLua);
  Lua walked;
  walked.Run(kProgram, Counting::kByWalker);
  EXPECT_EQ(walked.counting().bytes, counted.counting().bytes);
  EXPECT_GT(walked.counting().bytes.size(), 20u);
  EXPECT_EQ(LostWalks(), 0u);
}

TEST(Embedded, StatesOfManyThreads) {
  Lua counted;
  counted.Run(kProgram, Counting::kByWalker);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&counted] {
      Lua kept;
      for (int round = 0; round < 3; ++round) {
        Lua lua;
        lua.Run(kProgram, Counting::kByWalker);
        EXPECT_EQ(lua.counting().bytes, counted.counting().bytes);
      }
      kept.Run(kProgram, Counting::kByWalker);
      EXPECT_EQ(kept.counting().bytes, counted.counting().bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(LostWalks(), 0u);
}

// Returns the frames from the innermost one: Lua's own, and "-" for each run of native ones.
std::vector<std::string> Shape(const Counting& counting) {
  std::vector<std::string> shape;
  for (const std::string& frame : counting.stack) {
    if (frame != "-" || shape.empty() || shape.back() != "-") shape.push_back(frame);
  }
  return shape;
}

using Frames = std::vector<std::string>;

// A function of the host that allocates, and remembers the stack.
int AllocateHere(lua_State* state) {
  lua_newuserdatauv(state, 12345, 0);
  return 1;
}

Frames ShapeOf(const std::string& text) {
  Lua lua;
  lua_register(lua.state(), "allocate", AllocateHere);
  lua.Run(text, Counting::kByWalker);
  return Shape(lua.counting());
}

TEST(Embedded, NativeFramesStandBetween) {
  const std::string text =
      "local function inner() local x = allocate() return x end\n"
      "local function outer() local x = inner() return x end\n"
      "table.sort({ 2, 1 }, function() local x = outer() return false end)\n";
  EXPECT_EQ(ShapeOf(text),
            (Frames{"-", "app.lua:1", "app.lua:2", "app.lua:3", "-", "app.lua:3", "-"}));
}

TEST(Embedded, TheLoopOfEachIsReplaced) {
  const std::string deep = "local function f(n) if n == 0 then allocate() else f(n - 1) end end\n";
  Lua lua;
  lua_register(lua.state(), "allocate", AllocateHere);
  lua.Run(deep + "f(0)\n", Counting::kByWalker);
  const auto count = [&lua] {
    const Frames& stack = lua.counting().stack;
    return std::count(stack.begin(), stack.end(), "-");
  };
  const auto native = count();
  lua.Run(deep + "f(20)\n", Counting::kByWalker);
  EXPECT_EQ(count(), native);
}

TEST(Embedded, CoroutinesStandBeforeWhoResumedThem) {
  const std::string text =
      "local thread = coroutine.wrap(function()\n"
      "  pcall(function()\n"
      "    coroutine.yield()\n"
      "    allocate()\n"
      "  end)\n"
      "end)\n"
      "thread()\n"
      "thread()\n";
  // The protected call no longer has a native frame: the yield left it.
  EXPECT_EQ(ShapeOf(text), (Frames{"-", "app.lua:4", "app.lua:2", "-", "app.lua:8", "-"}));
}

TEST(Embedded, AStackThatGrows) {
  const uint64_t before = LostWalks();
  Lua lua;
  lua_State* const thread = lua_newthread(lua.state());
  lua.Run("", Counting::kNothing);
  const std::string text =
      "local function f(n) return n == 0 and 0 or 1 + f(n - 1) end\n"
      "return f(500)\n";
  ASSERT_EQ(luaL_loadbuffer(thread, text.data(), text.size(), "=deep.lua"), LUA_OK);
  lua.counting().mode = Counting::kByWalker;
  EXPECT_EQ(lua_pcall(thread, 0, 1, 0), LUA_OK);
  lua.counting().mode = Counting::kNothing;
  EXPECT_EQ(lua_tointeger(thread, -1), 500);
  EXPECT_EQ(LostWalks(), before);
  // Only what the first call needs before it becomes a call is the host's.
  EXPECT_LT(lua.counting().bytes["-"], 5000u);
  EXPECT_GT(lua.counting().bytes["deep.lua:1"], 500u * 3 * 16);
}

// Frames of unprotected calls are not shown: only protected calls reveal which thread runs them.
TEST(Embedded, UnprotectedCallsHaveNativeFramesAlone) {
  Lua lua;
  lua_register(lua.state(), "allocate", AllocateHere);
  ASSERT_EQ(luaL_loadstring(lua.state(), "allocate()"), LUA_OK);
  lua.counting().mode = Counting::kByWalker;
  lua_call(lua.state(), 0, 0);
  lua.counting().mode = Counting::kNothing;
  EXPECT_EQ(Shape(lua.counting()), Frames{"-"});
}

}  // namespace
}  // namespace allomon
