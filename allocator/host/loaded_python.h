// A Python that a program loads by dlopen: a server's plugin, or a database's language.
//
// It is looked for at each dlopen until it is found, so its frames are shown from the first
// extension module on that it loads itself, at the latest.  Weak: a program that profiles itself
// need not link what replaces dlopen, and the other way round.
#ifndef ALLOMON_ALLOCATOR_HOST_LOADED_PYTHON_H_
#define ALLOMON_ALLOCATOR_HOST_LOADED_PYTHON_H_

namespace allomon::internal {

// Before main, in a program without a Python of its own.  `samples_objects`: those of its arenas,
// too.
__attribute__((weak)) void ExpectLoadedPython(bool samples_objects, bool says_why_not);

// By any thread that calls dlopen, before the call.  Keeps errno.  A look costs one walk over the
// list of libraries; none where nobody expects anything.
__attribute__((weak)) void LookForLoadedPython();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_LOADED_PYTHON_H_
