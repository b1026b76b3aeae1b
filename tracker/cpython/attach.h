// Finds a Python interpreter in this process, and has call stacks show its frames.
#ifndef ALLOMON_TRACKER_CPYTHON_ATTACH_H_
#define ALLOMON_TRACKER_CPYTHON_ATTACH_H_

namespace allomon::cpython {

// Called once, before the program's main; the interpreter need not have begun.  It is the one that
// the program itself is, or is linked with: a libpython that is loaded later is not found.  Null if
// there is none, or if its frames are shown from now on; else why they are not: a static text.
const char* AttachPython();

}  // namespace allomon::cpython

#endif  // ALLOMON_TRACKER_CPYTHON_ATTACH_H_
