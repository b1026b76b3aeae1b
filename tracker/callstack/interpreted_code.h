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

// The name of a place.  Texts need no final zero; `room` is for texts that are not stored elsewhere
// in the interpreter.  Same layout as allomon_interpreter_function.
struct PlaceDescription {
  size_t struct_size;
  const char* name;
  size_t name_bytes;
  const char* file;
  size_t file_bytes;
  uint32_t first_line;  // of the function; 0: not known
  uint32_t line;        // the current line; 0: not known
  char* room;
  size_t room_bytes;
};

struct CodePlace {
  uintptr_t code;
  uint32_t position;
};

// The address of a place that is hidden from call stacks.
inline constexpr uintptr_t kNoFrame = 1;

// Returns the place's address or kNoFrame; 0 if the place is not known, or its code was freed.
uintptr_t FindPlace(const CodePlace& place);

// Changes when code with this identity is freed.
uint32_t CodeGeneration(uintptr_t code);

// Enters the description of a place, which was made while the code had this generation, and returns
// its address; the place keeps it from now on.  Returns (other), and counts it, if there is no
// room: beyond 262,144 lines or 16 MiB of text.
uintptr_t EnterPlace(const CodePlace& place, uint32_t generation, const PlaceDescription& what);
void EnterNoFrame(const CodePlace& place, uint32_t generation);

// Code with this identity is gone: the next code with it is different.
void ForgetCode(uintptr_t code);

// Returns an address for the frames that a walk has lost, and counts it.  0: there is no memory at
// all.
uintptr_t LostFrame();

// Finds a line of an interpreted function by its address or one less.  For FindManagedFunction().
bool FindInterpretedLine(uintptr_t address, ManagedFunctionName* name);
// Returns the number of the line at this address, from 0.  The address must be that of a line.
uint32_t InterpretedLineNumber(uintptr_t address);
bool IsInterpretedLine(uintptr_t address);

struct InterpretedCounts {
  uint64_t lines;      // different ones that were met, functions included
  uint64_t described;  // number of queries to interpreters for a place's name
  uint64_t lost;       // walks that ended in (unknown)
  uint64_t others;     // frames that had no room
};
InterpretedCounts CountInterpreted();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_INTERPRETED_CODE_H_
