// Functions that an interpreter runs, as addresses of call stacks.  A place in a function is known
// by the identity of its code and a position in it; the first sample there copies its name, file
// and line, since code may go away.  Places of equal names, files and lines are one address.
//
// Lock free, never calls malloc, async-signal-safe, any thread.  README.md, "Interpreted frames",
// has the design.
#ifndef ALLOMON_TRACKER_CALLSTACK_INTERPRETED_CODE_H_
#define ALLOMON_TRACKER_CALLSTACK_INTERPRETED_CODE_H_

#include <cstddef>
#include <cstdint>

#include "tracker/callstack/managed_functions.h"

namespace allomon::internal {

// What a place is called.  Texts need no zero behind them; `room` is for texts that have no place
// of their own in the interpreter.  As allomon_interpreter_function.
struct PlaceDescription {
  size_t struct_size;
  const char* name;
  size_t name_bytes;
  const char* file;
  size_t file_bytes;
  uint32_t first_line;  // of the function; 0: not known
  uint32_t line;        // that runs; 0: not known
  char* room;
  size_t room_bytes;
};

struct CodePlace {
  uintptr_t code;
  uint32_t position;
};

// Of a place that is no frame of its own.
inline constexpr uintptr_t kNoFrame = 1;

// The place's address or kNoFrame; 0 where the place is not known, or its code went away.
uintptr_t FindPlace(const CodePlace& place);

// Changes when code that had this identity goes away.
uint32_t CodeGeneration(uintptr_t code);

// The address of what was described while the code had this generation; the place has it from now
// on.  (other), and counted, where there is no room: beyond 262,144 lines or 16 MiB of text.
uintptr_t EnterPlace(const CodePlace& place, uint32_t generation, const PlaceDescription& what);
void EnterNoFrame(const CodePlace& place, uint32_t generation);

// What had this identity is gone: the next code that has it is another.
void ForgetCode(uintptr_t code);

// Stands for the frames that a walk has lost; counted.  0: there is no memory at all.
uintptr_t LostFrame();

// A line of an interpreted function, by its address or one less.  For FindManagedFunction().
bool FindInterpretedLine(uintptr_t address, ManagedFunctionName* name);
// From 0.  The address is one of a line.
uint32_t InterpretedLineNumber(uintptr_t address);
bool IsInterpretedLine(uintptr_t address);

struct InterpretedCounts {
  uint64_t lines;      // different ones that were met, functions included
  uint64_t described;  // times that an interpreter was asked what a place is called
  uint64_t lost;       // walks that ended in (unknown)
  uint64_t others;     // frames that had no room
};
InterpretedCounts CountInterpreted();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_INTERPRETED_CODE_H_
