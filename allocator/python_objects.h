// Python's objects, of which its own arenas hold those up to 512 bytes: how malloc sees them.  For
// the preloaded library.  README.md, "Objects of Python".
//
// Each is called once, the first two before the program's main: Python must not have allocated
// yet. Nothing happens where there is no Python, or one without arenas.  Weak: a program that
// profiles itself need not link //allocator.
#ifndef ALLOMON_ALLOCATOR_PYTHON_OBJECTS_H_
#define ALLOMON_ALLOCATOR_PYTHON_OBJECTS_H_

namespace allomon::internal {

// Has Python take each object from malloc, one block each: what the variable PYTHONMALLOC=malloc
// does, which has the last word if it is set.
__attribute__((weak)) void TakePythonObjectsFromMalloc();

// Objects stay in the arenas, but for those that the countdown chooses: these are blocks of malloc.
// An object that is not sampled costs a call, a comparison and the countdown.
__attribute__((weak)) void SamplePythonObjects();

// The same for a Python that the program has loaded, which may have allocated already, and may be
// allocating.  Nothing happens if it debugs its memory.  `find` is dlsym.
using FindSymbol = void* (*)(void* library, const char* name);
__attribute__((weak)) void SampleLoadedPythonObjects(void* library, FindSymbol find);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_PYTHON_OBJECTS_H_
