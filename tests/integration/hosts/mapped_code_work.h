// Functions that allocate or run in distinguishable amounts.  The program and its library are
// compiled from this file, and so is another build of both, whose functions have other names of the
// same length: its file differs from theirs only in names.
#ifndef ALLOMON_TESTS_INTEGRATION_HOSTS_MAPPED_CODE_WORK_H_
#define ALLOMON_TESTS_INTEGRATION_HOSTS_MAPPED_CODE_WORK_H_

#include <cstdlib>

// A macro instead of a function, since inlined functions have names, too.
#define ALLOMON_WORK(blocks)                                                                    \
  for (int i = 0; i < blocks; ++i) mapped_code::kept[mapped_code::kept_count++] = malloc(1000); \
  if (mapped_code::ticks != nullptr) {                                                          \
    for (int begin = *mapped_code::ticks; *mapped_code::ticks - begin < 50;) continue;          \
  }

#define ALLOMON_JOIN2(a, b) a##b
#define ALLOMON_JOIN(a, b) ALLOMON_JOIN2(a, b)
#define ALLOMON_NAMED(name) ALLOMON_JOIN(BUILD, ALLOMON_JOIN(WHERE, name))

namespace mapped_code {

// These are static: a library with a variable of the whole process (STB_GNU_UNIQUE) is never
// unloaded.
static void* kept[4000];
static int kept_count = 0;

// The milliseconds so far, by a timer like the profile's; nullptr if functions do not wait.  Each
// function runs for 50 of them: a time profile has hundredths of seconds, and less than one may be
// rounded to none.  A busy machine may deliver the first tick only after 100 milliseconds.
static const volatile int* ticks = nullptr;

}  // namespace mapped_code

extern "C" {

__attribute__((noinline)) static void ALLOMON_NAMED(Large)() { ALLOMON_WORK(600) }
__attribute__((noinline)) static void ALLOMON_NAMED(Small)() { ALLOMON_WORK(200) }
__attribute__((noinline, visibility("default"))) void ALLOMON_NAMED(Visible)() { ALLOMON_WORK(100) }

}  // extern "C"

namespace mapped_code {

inline void WorkOfAll() {
  ALLOMON_NAMED(Large)();
  ALLOMON_NAMED(Small)();
  ALLOMON_NAMED(Visible)();
}

}  // namespace mapped_code

#endif  // ALLOMON_TESTS_INTEGRATION_HOSTS_MAPPED_CODE_WORK_H_
