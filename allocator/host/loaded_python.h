// A Python that a program loads by dlopen: a server's plugin, or a database's language.
//
// Each dlopen looks for it until it is found, so its frames are shown at the latest when it loads
// its first extension module.  Weak: a program that profiles itself need not link the replacement
// of dlopen, and the other way round.
#ifndef ALLOMON_ALLOCATOR_HOST_LOADED_PYTHON_H_
#define ALLOMON_ALLOCATOR_HOST_LOADED_PYTHON_H_

namespace allomon::internal {

// Called before main, in a program without a Python of its own.  `samples_objects`: whether objects
// of its arenas are sampled, too.
__attribute__((weak)) void ExpectLoadedPython(bool samples_objects, bool says_why_not);

// Called by any thread before its call of dlopen.  Keeps errno.  Cost: one walk over the list of
// libraries while a Python is expected, otherwise nothing.
__attribute__((weak)) void LookForLoadedPython();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_LOADED_PYTHON_H_
