// Frames of the language that an interpreter runs, in call stacks.  A runtime registers functions
// that walk its own data structures.  They are called on the allocating thread when a block is
// sampled, and at no other time: a program that is not sampled pays nothing.  Works in C11 and in
// C++17, linked or preloaded (in_process.h).
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
// The frames take the place of the native frame that runs them.  Native frames further in (a
// library that the program called) and further out (who called the interpreter) stay where they
// are.  managed_functions.h of C++ marks each call instead, which costs some instructions a call,
// and is what exact counts by function need; a runtime may have both.
//
// The three functions run inside malloc, and in signal handlers if the program is asked for a
// profile of time.  They must not allocate, lock, call the interpreter, throw or end the thread.
// What they read is their thread's own, and whole at each allocation; a profile of time interrupts
// the interpreter between any two instructions, so there they must not follow what may be half
// written.  When they find that they cannot go on they answer ALLOMON_WALK_LOST: the stack then has
// a frame (unknown), and the loss is counted.
#ifndef ALLOMON_ALLOMON_INTERPRETER_H_
#define ALLOMON_ALLOMON_INTERPRETER_H_

#include <stddef.h>
#include <stdint.h>

#include "allomon/in_process.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// What the functions of an interpreter answer.
enum {
  ALLOMON_WALK_LOST = -1,
  ALLOMON_WALK_END = 0,
  ALLOMON_WALK_FRAME = 1,
};

// Where a walk has got to.  All zero when it begins; then the interpreter's.
typedef struct allomon_interpreter_walk {
  size_t struct_size;  // of the library's version: fields beyond it are not there; also below
  uintptr_t place[16];
} allomon_interpreter_walk;

typedef struct allomon_interpreter_frame {
  size_t struct_size;
  // Identity of the function's code: equal for no two functions that are there at one time.
  uintptr_t code;
  // An address in the stack frame of the native function that runs it, of a local variable for
  // example.  Frames of one loop have the same one.  0: as the frame before.
  uintptr_t native_frame;
  uint32_t position;  // in the code: an instruction, or a line
  // The interpreter's own: describe is given what next has put here.  For one whose identities are
  // made of contents, and are no addresses.
  uintptr_t own[2];
} allomon_interpreter_frame;

// What a place is called.  Texts are UTF-8 without a zero behind them, and are copied.
typedef struct allomon_interpreter_function {
  size_t struct_size;
  const char* name;  // at most 1,024 bytes are kept
  size_t name_bytes;
  const char* file;  // at most 2,048
  size_t file_bytes;
  uint32_t first_line;  // of the function; 0: not known
  uint32_t line;        // that runs; 0: not known
  char* room;           // for texts that have no place of their own
  size_t room_bytes;
} allomon_interpreter_function;

typedef struct allomon_interpreter {
  size_t struct_size;
  void* data;
  // The calling thread's walk begins.  ALLOMON_WALK_END: it runs nothing of this language.
  int (*begin)(void* data, allomon_interpreter_walk* walk);
  // The next frame, the innermost first.  ALLOMON_WALK_END: there is none.
  int (*next)(void* data, allomon_interpreter_walk* walk, allomon_interpreter_frame* frame);
  // Asked once for each code and position, and again when it was forgotten.  ALLOMON_WALK_END: a
  // frame that people should not see.
  int (*describe)(void* data, const allomon_interpreter_frame* frame,
                  allomon_interpreter_function* function);
} allomon_interpreter;
#define ALLOMON_INTERPRETER_DEFAULTS \
  { sizeof(allomon_interpreter), 0, 0, 0, 0 }

// Registers an interpreter for as long as the process runs; its code must not be unloaded.  Fails
// with ALLOMON_INVALID_ARGUMENT where a function is missing, and ALLOMON_TOO_MANY beyond four.
ALLOMON_C_FUNCTION(allomon_status, allomon_interpreter_register,
                   (const allomon_interpreter* interpreter), (interpreter), ALLOMON_ABSENT)

// What had this identity is gone or changed: the next code that has it is described again.  Called
// before the memory can be used again.  Also in signal handlers.  Cost: one atomic addition.
ALLOMON_C_PROCEDURE(allomon_interpreter_forget, (uintptr_t code), (code))

// Of the process, all interpreters together.
typedef struct allomon_interpreter_statistics {
  size_t struct_size;
  uint64_t lines;      // different ones, of different functions
  uint64_t described;  // times that describe was called
  uint64_t lost;       // walks that ended in (unknown)
  uint64_t others;     // frames that had no room: (other).  There is room for 262,144 lines
} allomon_interpreter_statistics;
#define ALLOMON_INTERPRETER_STATISTICS_DEFAULTS \
  { sizeof(allomon_interpreter_statistics), 0, 0, 0, 0 }

// Fails with ALLOMON_INVALID_ARGUMENT where the structure is too small.
ALLOMON_C_FUNCTION(allomon_status, allomon_interpreters_statistics,
                   (allomon_interpreter_statistics * statistics), (statistics), ALLOMON_ABSENT)

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_INTERPRETER_H_
