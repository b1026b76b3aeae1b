// Finds a Python interpreter in this process, and has call stacks show its frames.
#ifndef ALLOMON_TRACKER_CPYTHON_ATTACH_H_
#define ALLOMON_TRACKER_CPYTHON_ATTACH_H_

namespace allomon::cpython {

// Called once, before the program's main; the interpreter need not have begun.  It is the one that
// the program itself is, or is linked with.  Null if there is none, or if its frames are shown from
// now on; else why they are not: a static text.
const char* AttachPython();

// Whether the program is linked with a Python; and whether that is one before 3.11, whose frames
// are not shown.  Any thread, at any time.
bool IsPythonLinked();
bool IsEarlierPython();

// As dlsym.
using FindSymbol = void* (*)(void* library, const char* name);

// The same for an interpreter that a program without one has loaded and does not unload any more.
// Called once, by any thread, under no lock.
const char* AttachLoadedPython(void* library, FindSymbol find);

}  // namespace allomon::cpython

#endif  // ALLOMON_TRACKER_CPYTHON_ATTACH_H_
