// Names and source lines of Lua's functions.
#ifndef ALLOMON_TRACKER_LUA_DESCRIBE_H_
#define ALLOMON_TRACKER_LUA_DESCRIBE_H_

#include <cstddef>
#include <cstdint>

#include "tracker/callstack/interpreters.h"
#include "tracker/lua/object_reader.h"

namespace allomon::lua {

// Describes a function, for an interpreter (callstack/interpreters.h).  A function has one name:
// the one that the first call seen has used, or "main chunk", or "<app.lua:12>".
int DescribeFunction(void* lua, const internal::InterpretedFrame* frame,
                     internal::PlaceDescription* description);

// ---- Keeps the first name that was found for each function.
//
// Lock free, never allocates, async-signal-safe, any thread.

// Longer names are cut to this many bytes.
inline constexpr size_t kKnownNameBytes = 47;

struct KnownName {
  char text[kKnownNameBytes];
  uint8_t bytes;  // 0: the function has no name
};

// Returns the name of a function, by its identity; stores `name` if the function is new.  The table
// has room for 4,096 functions.  Returns null if the table is full or another thread is writing
// this very entry: callers then use `name`.
const KnownName* KeepName(uintptr_t function, const KnownName& name);

// ---- Lines of Lua's instructions.

// Sets the line of the instruction `index`, from 0; -1, before the first, is the function's line.
// 0: the code has no lines.  False: the table is damaged.  Cost: a load for each instruction after
// the last mark; there is one mark in 128.
bool LineOf(const Prototype& prototype, int32_t index, ObjectReader* reader, uint32_t* line);

// ---- Finds the name by which a call refers to its function.  Lua's functions have no names of
// their own.

// Maximum length of a name in bytes.
inline constexpr size_t kMostNameBytes = 200;

// Finds the name of the function that the instruction `index` of the code at `prototype` calls: the
// local variable, upvalue, global, field or method that it comes from, as debug.traceback() does.
// False: it has no name, or cannot be read.  Cost: some loads for each earlier instruction.
bool FindCalledName(uintptr_t prototype, int32_t index, ObjectReader* reader, Text* name);

// ---- Identifies a function's code by its source, as people see it.

// Maximum lengths of a file's name, and of the first line of a program given as text.
inline constexpr size_t kMostFileBytes = 1900;
inline constexpr size_t kMostTextBytes = 60;

// Lua's name for the origin of code: '@' and a file, '=' and a name that the host has chosen, or
// the program itself.
struct Source {
  Text text;  // the shown part; without a leading '@' or '='
  char kind;  // '@', '='; 0: the program
  bool is_cut;
};
bool ReadSource(uintptr_t string, ObjectReader* reader, Source* source);

// Computes a number from the source as shown and the place in it.  Code has no lasting address,
// since the collector frees it without notice.  So the contents are the identity, and nothing needs
// to be forgotten.  False: the source cannot be read.
bool IdentityOf(const Prototype& prototype, ObjectReader* reader, uintptr_t* identity);

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_DESCRIBE_H_
