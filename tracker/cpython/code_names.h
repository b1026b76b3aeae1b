// Names, files and current lines of Python's code.
#ifndef ALLOMON_TRACKER_CPYTHON_CODE_NAMES_H_
#define ALLOMON_TRACKER_CPYTHON_CODE_NAMES_H_

#include "tracker/callstack/interpreters.h"

namespace allomon::cpython {

// Describes code, for an interpreter (callstack/interpreters.h); `python` is a RunningPython.  The
// name is the qualified one.
int DescribeCode(void* python, const internal::InterpretedFrame* frame,
                 internal::PlaceDescription* description);

}  // namespace allomon::cpython

#endif  // ALLOMON_TRACKER_CPYTHON_CODE_NAMES_H_
