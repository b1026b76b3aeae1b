// Offsets of the fields that a walk reads in Lua 5.4.3 to 5.4.8, on 64-bit machines.  These
// releases have the same structures; a probe compares them with the running interpreter's
// (probe.h).
#ifndef ALLOMON_TRACKER_LUA_LAYOUT_H_
#define ALLOMON_TRACKER_LUA_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace allomon::lua {

// Fields of all collected objects: their type.
inline constexpr uintptr_t kObjectTag = 8;
inline constexpr uint8_t kShortString = 4;
inline constexpr uint8_t kLongString = 20;
inline constexpr uint8_t kLuaClosure = 6;
inline constexpr uint8_t kThread = 8;
inline constexpr uint8_t kPrototype = 10;

// Fields of a value: a word and its type.
inline constexpr uintptr_t kValueBytes = 16;
inline constexpr uintptr_t kValueTag = 8;
inline constexpr uint8_t kOfCollector = 64;
inline constexpr uint8_t kTypeBits = 15;
inline constexpr uint8_t kNumber = 3;

// Fields of a lua_State, which is a coroutine or the main state.
inline constexpr uintptr_t kStateCall = 32;  // the running call
inline constexpr uintptr_t kStateStackEnd = 40;
inline constexpr uintptr_t kStateStack = 48;
inline constexpr uintptr_t kStateRecovery = 88;   // on the native stack; the innermost
inline constexpr uintptr_t kStateFirstCall = 96;  // the host's, of no function

// Fields of a call.
inline constexpr uintptr_t kCallFunction = 0;  // where on the stack of the state
inline constexpr uintptr_t kCallCaller = 16;
inline constexpr uintptr_t kCallInstruction = 32;  // the next one
inline constexpr uintptr_t kCallFlags = 62;        // 16 bits
inline constexpr uintptr_t kCallBytes = 64;
inline constexpr uint16_t kCallsNative = 1 << 1;
inline constexpr uint16_t kBeginsLoop = 1 << 2;
inline constexpr uint16_t kRunsHook = 1 << 3;
inline constexpr uint16_t kWasTailCalled = 1 << 5;
inline constexpr uint16_t kRunsFinalizer = 1 << 7;

inline constexpr uintptr_t kClosurePrototype = 24;

// Fields of a prototype: the code of a function.
inline constexpr uintptr_t kParameterCount = 10;  // one byte, as the next two
inline constexpr uintptr_t kIsVararg = 11;
inline constexpr uintptr_t kRegisterCount = 12;
inline constexpr uintptr_t kUpvalueCount = 16;
inline constexpr uintptr_t kConstantCount = 20;
inline constexpr uintptr_t kCodeCount = 24;
inline constexpr uintptr_t kLineCount = 28;
inline constexpr uintptr_t kNestedCount = 32;  // of functions in it
inline constexpr uintptr_t kLocalCount = 36;
inline constexpr uintptr_t kLineMarkCount = 40;
inline constexpr uintptr_t kFirstLine = 44;
inline constexpr uintptr_t kLastLine = 48;
inline constexpr uintptr_t kConstants = 56;
inline constexpr uintptr_t kCode = 64;
inline constexpr uintptr_t kUpvalues = 80;
inline constexpr uintptr_t kLines = 88;
inline constexpr uintptr_t kLineMarks = 96;
inline constexpr uintptr_t kLocals = 104;
inline constexpr uintptr_t kSource = 112;
inline constexpr uintptr_t kPrototypeBytes = 128;

// Fields of a string.
inline constexpr uintptr_t kShortLength = 11;
inline constexpr uintptr_t kLongLength = 16;
inline constexpr uintptr_t kStringBytes = 24;

inline constexpr uintptr_t kInstructionBytes = 4;

// Machine code, by return addresses.
struct CodeRange {
  uintptr_t begin;
  uintptr_t end;

  bool Has(uintptr_t return_address) const {
    return return_address > begin && return_address <= end;
  }
};

// A call in the interpreter's loop that does not store its position first.
struct UnsavedCall {
  uintptr_t return_address;
  // Location of the next instruction: a register, by DWARF's number, or, if that is 0, a word of
  // the loop's frame.
  uint64_t register_number;
  size_t frame_word;
};
inline constexpr int kMostUnsavedCalls = 8;
inline constexpr int kMostProtections = 4;

// An interpreter of this process: the results of a probe.
struct RunningLua {
  // The code that runs another function in protected mode: one function, or several into which it
  // is inlined.
  CodeRange protections[kMostProtections];
  int protection_count;
  CodeRange loop;  // of instructions
  UnsavedCall unsaved[kMostUnsavedCalls];
  int unsaved_count;
};

}  // namespace allomon::lua

#endif  // ALLOMON_TRACKER_LUA_LAYOUT_H_
