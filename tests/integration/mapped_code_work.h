// Functions that allocate or run in distinguishable amounts.  The program and its library are
// compiled from this file, and so is another build of both, whose functions have other names of the
// same length: its file differs from theirs only in names.
#ifndef ALLOMON_TESTS_INTEGRATION_MAPPED_CODE_WORK_H_
#define ALLOMON_TESTS_INTEGRATION_MAPPED_CODE_WORK_H_

#include <time.h>

#include <cstdlib>

// A macro instead of a function, since inlined functions have names, too.
#define ALLOMON_WORK(blocks, share)                                                             \
  for (int i = 0; i < blocks; ++i) mapped_code::kept[mapped_code::kept_count++] = malloc(1000); \
  for (long end = mapped_code::CpuMillis() + mapped_code::spin_millis * share / 6;              \
       mapped_code::spin_millis != 0 && mapped_code::CpuMillis() < end;) {                      \
    for (volatile int i = 0; i < 20000;) i = i + 1;                                             \
  }

#define ALLOMON_JOIN2(a, b) a##b
#define ALLOMON_JOIN(a, b) ALLOMON_JOIN2(a, b)
#define ALLOMON_NAMED(name) ALLOMON_JOIN(BUILD, ALLOMON_JOIN(WHERE, name))

namespace mapped_code {

inline void* kept[4000];
inline int kept_count = 0;
inline long spin_millis = 0;  // of the largest function

__attribute__((noinline)) inline long CpuMillis() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

}  // namespace mapped_code

extern "C" {

__attribute__((noinline)) static void ALLOMON_NAMED(Large)() { ALLOMON_WORK(600, 6) }
__attribute__((noinline)) static void ALLOMON_NAMED(Small)() { ALLOMON_WORK(200, 2) }
__attribute__((noinline, visibility("default"))) void ALLOMON_NAMED(Visible)() {
  ALLOMON_WORK(100, 1)
}

}  // extern "C"

namespace mapped_code {

inline void WorkOfAll() {
  ALLOMON_NAMED(Large)();
  ALLOMON_NAMED(Small)();
  ALLOMON_NAMED(Visible)();
}

}  // namespace mapped_code

#endif  // ALLOMON_TESTS_INTEGRATION_MAPPED_CODE_WORK_H_
