// Registers a program's interpreters, so that call stacks contain their frames.
#include "allomon/interpreter.h"

#include <cstddef>

#include "tracker/c/structures.h"
#include "tracker/callstack/interpreters.h"

namespace {

using allomon::internal::InterpretedFrame;
using allomon::internal::Interpreter;
using allomon::internal::InterpreterWalk;
using allomon::internal::PlaceDescription;

// The interface's structures have the same layout as the library's.
static_assert(offsetof(Interpreter, describe) == offsetof(allomon_interpreter, describe));
static_assert(sizeof(InterpreterWalk) == sizeof(allomon_interpreter_walk));
static_assert(sizeof(InterpretedFrame) == sizeof(allomon_interpreter_frame));
static_assert(offsetof(InterpretedFrame, position) ==
              offsetof(allomon_interpreter_frame, position));
static_assert(offsetof(InterpretedFrame, own) == offsetof(allomon_interpreter_frame, own));
static_assert(sizeof(PlaceDescription) == sizeof(allomon_interpreter_function));
static_assert(offsetof(PlaceDescription, line) == offsetof(allomon_interpreter_function, line));
static_assert(offsetof(PlaceDescription, room) == offsetof(allomon_interpreter_function, room));
static_assert(static_cast<int>(ALLOMON_WALK_LOST) == allomon::internal::kWalkLost);
static_assert(static_cast<int>(ALLOMON_WALK_FRAME) == allomon::internal::kWalkFrame);

}  // namespace

allomon_status allomon_interpreter_register(const allomon_interpreter* interpreter) {
  allomon_interpreter given = ALLOMON_INTERPRETER_DEFAULTS;
  if (!allomon::c::CopyIn(interpreter, sizeof(given), &given)) return ALLOMON_INVALID_ARGUMENT;
  if (given.begin == nullptr || given.next == nullptr || given.describe == nullptr) {
    return ALLOMON_INVALID_ARGUMENT;
  }
  const Interpreter own = {sizeof(own),
                           given.data,
                           reinterpret_cast<decltype(Interpreter::begin)>(given.begin),
                           reinterpret_cast<decltype(Interpreter::next)>(given.next),
                           reinterpret_cast<decltype(Interpreter::describe)>(given.describe),
                           nullptr};
  return allomon::internal::RegisterInterpreter(own) ? ALLOMON_OK : ALLOMON_TOO_MANY;
}

void allomon_interpreter_forget(uintptr_t code) { allomon::internal::ForgetCode(code); }

allomon_status allomon_interpreters_statistics(allomon_interpreter_statistics* statistics) {
  const allomon::internal::InterpretedCounts counts = allomon::internal::CountInterpreted();
  allomon_interpreter_statistics own = ALLOMON_INTERPRETER_STATISTICS_DEFAULTS;
  own.lines = counts.lines;
  own.described = counts.described;
  own.lost = counts.lost;
  own.others = counts.others;
  return allomon::c::CopyOut(own, sizeof(own), statistics) ? ALLOMON_OK : ALLOMON_INVALID_ARGUMENT;
}
