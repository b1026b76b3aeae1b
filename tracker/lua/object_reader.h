// Reads Lua's objects without trusting them: README.md, "Bad data".
#ifndef ALLOMON_TRACKER_LUA_OBJECT_READER_H_
#define ALLOMON_TRACKER_LUA_OBJECT_READER_H_

#include <cstddef>
#include <cstdint>

#include "tracker/callstack/readable_memory.h"
#include "tracker/lua/layout.h"

namespace allomon::lua {

struct CallWords {
  uintptr_t function;
  uintptr_t caller;
  uintptr_t instruction;
  uint16_t flags;
};

// The code of a function.
struct Prototype {
  uintptr_t code;
  uintptr_t constants;
  uintptr_t lines;
  uintptr_t line_marks;
  uintptr_t source;
  int32_t code_count;
  int32_t constant_count;
  int32_t upvalue_count;
  int32_t nested_count;  // of functions in it
  int32_t local_count;
  uint8_t parameter_count;
  uint8_t is_vararg;
  uint8_t register_count;
  int32_t line_count;
  int32_t line_mark_count;
  int32_t first_line;
  int32_t last_line;
};

// Characters that can be read.
struct Text {
  uintptr_t begin;
  size_t bytes;
};

class ObjectReader {
 public:
  explicit ObjectReader(internal::ReadableMemory* memory) : memory_(*memory) {}
  internal::ReadableMemory& memory() { return memory_; }

  template <typename T>
  bool Load(uintptr_t address, T* value) {
    return memory_.Load(address, value);
  }

  bool Is(uintptr_t object, uint8_t tag);
  bool ReadCall(uintptr_t call, CallWords* words);
  // Returns the prototype that a call of a Lua function runs; 0: it cannot be read.
  uintptr_t PrototypeOf(uintptr_t state, const CallWords& words);
  bool ReadPrototype(uintptr_t address, Prototype* prototype);
  // The first `most` bytes of a string.
  bool ReadText(uintptr_t string, size_t most, Text* text);

 private:
  internal::ReadableMemory& memory_;
};

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_OBJECT_READER_H_
