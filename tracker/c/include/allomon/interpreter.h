// Shows frames of an interpreted language in call stacks.  A runtime registers functions that walk
// its own data structures.  They are called on the allocating thread when a block is sampled, and
// at no other time: an unsampled program has no cost.  Works in C11 and in C++17, linked or
// preloaded (in_process.h).
//
//   static int Begin(void* data, allomon_interpreter_walk* walk) {
//     walk->place[0] = (uintptr_t)current_frame;  // of this thread
//     return current_frame != NULL ? ALLOMON_WALK_FRAME : ALLOMON_WALK_END;
//   }
//   static int Next(void* data, allomon_interpreter_walk* walk, allomon_interpreter_frame* frame) {
//     const Frame* next = (const Frame*)walk->place[0];
//     if (next == NULL) return ALLOMON_WALK_END;
//     frame->code = (uintptr_t)next->function;
//     frame->position = next->instruction;
//     frame->native_frame = (uintptr_t)next->loop;  // a local variable of the loop that runs it
//     walk->place[0] = (uintptr_t)next->caller;
//     return ALLOMON_WALK_FRAME;
//   }
//   static int Describe(void* data, const allomon_interpreter_frame* frame,
//                       allomon_interpreter_function* function) {
//     const Function* code = (const Function*)frame->code;
//     function->name = code->name;
//     function->name_bytes = strlen(code->name);
//     ...
//     return ALLOMON_WALK_FRAME;
//   }
//   allomon_interpreter interpreter = ALLOMON_INTERPRETER_DEFAULTS;
//   interpreter.begin = Begin;
//   ...
//   allomon_interpreter_register(&interpreter);
//
// The frames replace the native frame that runs them.  Native callees (a library that the program
// called) and callers (of the interpreter) stay in their places.  managed_functions.h of C++ marks
// each call instead, which costs some instructions a call, and which exact counts by function need;
// a runtime may use both.
//
// The three functions run inside malloc, and in signal handlers during a profile of time.  They
// must not allocate, lock, call the interpreter, throw or end the thread.  They read only data of
// their own thread, which is consistent at each allocation.  A profile of time interrupts the
// interpreter between any two instructions, so there they must not follow pointers that may be half
// written.  If they cannot go on they return ALLOMON_WALK_LOST: the stack then has a frame
// (unknown), and the loss is counted.
#ifndef ALLOMON_ALLOMON_INTERPRETER_H_
#define ALLOMON_ALLOMON_INTERPRETER_H_

#include <stddef.h>
#include <stdint.h>

#include "allomon/in_process.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// Results of an interpreter's functions.
enum {
  ALLOMON_WALK_LOST = -1,
  ALLOMON_WALK_END = 0,
  ALLOMON_WALK_FRAME = 1,
};

// The position of a walk.  All zero when it begins; then the interpreter's own.
typedef struct allomon_interpreter_walk {
  size_t struct_size;  // the library's: fields beyond it do not exist; same below
  uintptr_t place[16];
} allomon_interpreter_walk;

typedef struct allomon_interpreter_frame {
  size_t struct_size;
  // Identifies the function's code: different for any two functions that exist at the same time.
  uintptr_t code;
  // An address in the stack frame of the native function that runs it, for example of a local
  // variable.  Frames of one loop have the same one.  0: the same as the previous frame.
  uintptr_t native_frame;
  uint32_t position;  // in the code: an instruction, or a line
  // The interpreter's own: describe gets the values that next has put here.  For an interpreter
  // whose identities are made from contents instead of addresses.
  uintptr_t own[2];
} allomon_interpreter_frame;

// The name of a place.  Texts are UTF-8 without a final zero, and are copied.
typedef struct allomon_interpreter_function {
  size_t struct_size;
  const char* name;  // at most 1,024 bytes are kept
  size_t name_bytes;
  const char* file;  // at most 2,048
  size_t file_bytes;
  uint32_t first_line;  // of the function; 0: not known
  uint32_t line;        // the current line; 0: not known
  char* room;           // for texts that are not stored elsewhere
  size_t room_bytes;
} allomon_interpreter_function;

typedef struct allomon_interpreter {
  size_t struct_size;
  void* data;
  // Begins a walk of the calling thread.  ALLOMON_WALK_END: it runs nothing of this language.
  int (*begin)(void* data, allomon_interpreter_walk* walk);
  // Stores the next frame, beginning with the innermost.  ALLOMON_WALK_END: there are no more.
  int (*next)(void* data, allomon_interpreter_walk* walk, allomon_interpreter_frame* frame);
  // Describes a code and position.  Called once for each, and again after it was forgotten.
  // ALLOMON_WALK_END: hide this frame.
  int (*describe)(void* data, const allomon_interpreter_frame* frame,
                  allomon_interpreter_function* function);
} allomon_interpreter;
#define ALLOMON_INTERPRETER_DEFAULTS \
  { sizeof(allomon_interpreter), 0, 0, 0, 0 }

// Registers an interpreter for as long as the process runs; its code must not be unloaded.  Fails
// with ALLOMON_INVALID_ARGUMENT if a function is missing, and ALLOMON_TOO_MANY for the fifth one.
ALLOMON_C_FUNCTION(allomon_status, allomon_interpreter_register,
                   (const allomon_interpreter* interpreter), (interpreter), ALLOMON_ABSENT)

// Forgets code that is gone or changed: the next code with this identity is described again.  Call
// it before the memory can be reused.  Also in signal handlers.  Cost: one atomic addition.
ALLOMON_C_PROCEDURE(allomon_interpreter_forget, (uintptr_t code), (code))

// Counts of the process, for all interpreters together.
typedef struct allomon_interpreter_statistics {
  size_t struct_size;
  uint64_t lines;      // different lines, of different functions
  uint64_t described;  // times that describe was called
  uint64_t lost;       // walks that ended in (unknown)
  uint64_t others;     // frames without room: (other); there is room for 262,144 lines
} allomon_interpreter_statistics;
#define ALLOMON_INTERPRETER_STATISTICS_DEFAULTS \
  { sizeof(allomon_interpreter_statistics), 0, 0, 0, 0 }

// Fails with ALLOMON_INVALID_ARGUMENT if the structure is too small.
ALLOMON_C_FUNCTION(allomon_status, allomon_interpreters_statistics,
                   (allomon_interpreter_statistics * statistics), (statistics), ALLOMON_ABSENT)

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_INTERPRETER_H_
