// Samples Python's objects, which up to 512 bytes lie in Python's own arenas.  For the preloaded
// library.  README.md, "Objects of Python".
//
// Each is called once, the first two before the program's main: Python must not have allocated yet.
// They do nothing without a Python, or for one without arenas.  Weak: a program that profiles
// itself need not link //allocator.
#ifndef ALLOMON_ALLOCATOR_PYTHON_OBJECTS_H_
#define ALLOMON_ALLOCATOR_PYTHON_OBJECTS_H_

namespace allomon::internal {

// Has Python take each object from malloc, one block each, as the variable PYTHONMALLOC=malloc
// does.  If that variable is set, it takes precedence.
__attribute__((weak)) void TakePythonObjectsFromMalloc();

// Leaves objects in the arenas, except those that the countdown chooses: these become blocks of
// malloc. An object that is not sampled costs a call, a comparison and the countdown.
__attribute__((weak)) void SamplePythonObjects();

// Does the same for a Python that the program has loaded, which may have allocated already, and may
// be allocating.  Does nothing if that Python debugs its memory.  `find` is dlsym.
using FindSymbol = void* (*)(void* library, const char* name);
__attribute__((weak)) void SampleLoadedPythonObjects(void* library, FindSymbol find);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_PYTHON_OBJECTS_H_
