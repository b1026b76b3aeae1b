// Finds a Python interpreter in this process, and has call stacks show its frames.
#ifndef ALLOMON_TRACKER_CPYTHON_ATTACH_H_
#define ALLOMON_TRACKER_CPYTHON_ATTACH_H_

namespace allomon::cpython {

// Called once, before the program's main; the interpreter need not have begun.  It is the one that
// the program itself is, or is linked with: a libpython that is loaded later is not found.  Null if
// there is none, or if its frames are shown from now on; else why they are not: a static text.
const char* AttachPython();

// Has Python take its objects from malloc, one block each, in place of its own arenas: what the
// variable PYTHONMALLOC=malloc does, which has the last word if it is set.  Called after
// AttachPython() has attached one, at the same time.
void TakeObjectsFromMalloc();

}  // namespace allomon::cpython

#endif  // ALLOMON_TRACKER_CPYTHON_ATTACH_H_
