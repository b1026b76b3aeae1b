// Walks the Python frames that the calling thread runs.
#ifndef ALLOMON_TRACKER_CPYTHON_FRAMES_H_
#define ALLOMON_TRACKER_CPYTHON_FRAMES_H_

#include <cstdint>

#include "tracker/callstack/interpreters.h"
#include "tracker/cpython/layout.h"

namespace allomon::cpython {

struct RunningPython {
  Layout layout;
  // Addresses of types.
  uintptr_t code_type;
  uintptr_t str_type;
  uintptr_t bytes_type;
  // Returns the thread state under which the calling thread runs Python code; 0 if the thread does
  // not hold the global lock.
  uintptr_t (*current_thread)(const RunningPython& python);
  // Called before the first frame of a walk.
  void (*watch_code)();
};

int BeginWalk(void* python, internal::InterpreterWalk* walk);
int NextFrame(void* python, internal::InterpreterWalk* walk, internal::InterpretedFrame* frame);

// A frame's position: the instruction, counted from 1 (0: the frame is new), and whether the frame
// is a generator's or a coroutine's.
inline constexpr uint32_t kOfGenerator = uint32_t{1} << 31;

}  // namespace allomon::cpython

#endif  // ALLOMON_TRACKER_CPYTHON_FRAMES_H_
