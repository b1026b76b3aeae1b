// Names, files and current lines of Python's code.
#ifndef ALLOMON_TRACKER_CPYTHON_CODE_NAMES_H_
#define ALLOMON_TRACKER_CPYTHON_CODE_NAMES_H_

#include <cstddef>
#include <cstdint>

#include "tracker/callstack/interpreters.h"

namespace allomon::cpython {

// Describes code, for an interpreter (callstack/interpreters.h); `python` is a RunningPython.  The
// name is the qualified one.
int DescribeCode(void* python, const internal::InterpretedFrame* frame,
                 internal::PlaceDescription* description);

// ---- Lines of Python's instructions.

// Returns the line of the instruction `unit` (of two bytes, from 0) by the line table of its code
// object, whose bytes must be readable.  A unit before the first has first_line. 0: it has no line,
// or the table is damaged.  Pure; also in signal handlers.  Cost: some nanoseconds for each row
// before the unit's.
uint32_t LineOfUnit(const uint8_t* table, size_t table_bytes, int first_line, int unit);

}  // namespace allomon::cpython

#endif  // ALLOMON_TRACKER_CPYTHON_CODE_NAMES_H_
