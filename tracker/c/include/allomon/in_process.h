// How a function of this C interface is found in the process that calls it: linked in, or in a
// preloaded liballomon.so, or not at all.  For the headers beside this one.
//
// A program or a plugin that includes them needs to link nothing.  Each function is a short inline
// one.  It calls the function of that name which the process has.  Where there is none it answers
// what the header says, ALLOMON_ABSENT in most cases: no crash, and no question to ask before.  It
// writes nothing then: what its arguments point to is as it was.
// Languages that look a function up by its name (dlsym, ctypes) find it only where it is present.
//
// The address comes from the global offset table, by a reference that may stay unresolved.  That
// holds in position-independent and position-dependent executables and in modules that are loaded
// by dlopen.  A static executable finds what it is linked with.  Cost: a load, a comparison and the
// call; the loader resolves the reference when it loads the code, so nothing is looked up later.
#ifndef ALLOMON_ALLOMON_IN_PROCESS_H_
#define ALLOMON_ALLOMON_IN_PROCESS_H_

#ifdef __cplusplus
#define ALLOMON_BEGIN_C_API extern "C" {
#define ALLOMON_END_C_API }
#else
#define ALLOMON_BEGIN_C_API
#define ALLOMON_END_C_API
#endif

// ALLOMON_C_FUNCTION declares `result name parameters`, which answers `absent` where the process
// has no such function; ALLOMON_C_PROCEDURE one that returns nothing.
#if defined(ALLOMON_IMPLEMENTS_C_API)

// In the files that define the functions they are plain declarations.
#define ALLOMON_EXPORTED_ __attribute__((used, visibility("default")))
#define ALLOMON_C_FUNCTION(result, name, parameters, arguments, absent) \
  ALLOMON_EXPORTED_ result name parameters;
#define ALLOMON_C_PROCEDURE(name, parameters, arguments) ALLOMON_EXPORTED_ void name parameters;

#else

// A weak declaration would be resolved to 0 when a position-dependent executable is linked.
#if defined(__x86_64__)
#define ALLOMON_FIND_(function, result, name, parameters)                                   \
  __asm__(".weak " #name "\n\t{movq " #name "@GOTPCREL(%%rip), %0|mov %0, QWORD PTR " #name \
          "@GOTPCREL[rip]}"                                                                 \
          : "=r"(function))
#else
#define ALLOMON_FIND_(function, result, name, parameters)                          \
  extern result name##_in_process parameters __asm__(#name) __attribute__((weak)); \
  function = name##_in_process
#endif

// The inline function has an assembler name of its own: where the compiler emits it, it must not
// stand in front of the one that it looks for.
#define ALLOMON_C_FUNCTION(result, name, parameters, arguments, absent) \
  static inline result name parameters __asm__(#name "_or_absent");     \
  static inline result name parameters {                                \
    result(*function) parameters;                                       \
    ALLOMON_FIND_(function, result, name, parameters);                  \
    return function != 0 ? function arguments : (absent);               \
  }
#define ALLOMON_C_PROCEDURE(name, parameters, arguments)          \
  static inline void name parameters __asm__(#name "_or_absent"); \
  static inline void name parameters {                            \
    void(*function) parameters;                                   \
    ALLOMON_FIND_(function, void, name, parameters);              \
    if (function != 0) function arguments;                        \
  }

#endif

#endif  // ALLOMON_ALLOMON_IN_PROCESS_H_
