// Finds a Python interpreter in this process, and makes call stacks show its frames.
#ifndef ALLOMON_TRACKER_CPYTHON_ATTACH_H_
#define ALLOMON_TRACKER_CPYTHON_ATTACH_H_

namespace allomon::cpython {

// Attaches the Python interpreter that is the program itself or linked with it.  Called once,
// before the program's main; the interpreter need not have begun.  Returns null if there is none,
// or if its frames are shown from now on; otherwise the reason why they are not, a static text.
const char* AttachPython();

// Whether the program is linked with a Python, and whether that is a version before 3.11, whose
// frames are not shown.  Any thread, at any time.
bool IsPythonLinked();
bool IsEarlierPython();

// A function like dlsym.
using FindSymbol = void* (*)(void* library, const char* name);

// The same for an interpreter that a program without one has loaded and will not unload.  Called
// once, by any thread, under no lock.
const char* AttachLoadedPython(void* library, FindSymbol find);

}  // namespace allomon::cpython

#endif  // ALLOMON_TRACKER_CPYTHON_ATTACH_H_
