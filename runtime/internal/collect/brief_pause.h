// The pause of a thread that waits for another one which runs, and needs microseconds.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_BRIEF_PAUSE_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_BRIEF_PAUSE_H_

namespace allomon::gc::internal {

// Tells the processor that this is a loop of looks.  No system call: on a machine with other work a
// thread that yields is away for milliseconds.
inline void PauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Looks of that kind take some ten microseconds.
inline constexpr unsigned kBriefLooks = 500;

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_BRIEF_PAUSE_H_
