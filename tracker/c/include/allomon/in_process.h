// Finds the functions of this C interface in the calling process: linked in, in a preloaded
// liballomon.so, or not at all.  Included by the other headers of this folder.
//
// A program or a plugin that includes them needs to link nothing.  Each function is a short inline
// one that calls the process's function of that name.  If there is no such function it returns the
// value that the header states, mostly ALLOMON_ABSENT. So a call never crashes, and callers need no
// check first.  It then writes nothing through its arguments.  Languages that look a function up by
// its name (dlsym, ctypes) find it only if it is present.
//
// The address comes from the global offset table, through a reference that may stay unresolved.
// That works in position-independent and position-dependent executables and in modules that are
// loaded by dlopen.  A static executable finds the functions that it is linked with.  Cost: a load,
// a comparison and the call; the loader resolves the reference when it loads the code, so nothing
// is looked up later.
#ifndef ALLOMON_ALLOMON_IN_PROCESS_H_
#define ALLOMON_ALLOMON_IN_PROCESS_H_

#ifdef __cplusplus
#define ALLOMON_BEGIN_C_API extern "C" {
#define ALLOMON_END_C_API }
#else
#define ALLOMON_BEGIN_C_API
#define ALLOMON_END_C_API
#endif

// ALLOMON_C_FUNCTION declares `result name parameters`, which returns `absent` if the process has
// no such function; ALLOMON_C_PROCEDURE declares one that returns nothing.
#if defined(ALLOMON_IMPLEMENTS_C_API)

// Plain declarations, for the files that define the functions.
#define ALLOMON_EXPORTED_ __attribute__((used, visibility("default")))
#define ALLOMON_C_FUNCTION(result, name, parameters, arguments, absent) \
  ALLOMON_EXPORTED_ result name parameters;
#define ALLOMON_C_PROCEDURE(name, parameters, arguments) ALLOMON_EXPORTED_ void name parameters;

#else

// A weak declaration would not do: it is resolved to 0 when a position-dependent executable is
// linked.
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

// The inline function has an assembler name of its own: if the compiler emits it, it must not hide
// the function that it looks for.
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
