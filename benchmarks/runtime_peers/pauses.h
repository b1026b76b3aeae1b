/* The pauses of a collector, as it tells of them, and what mutators_benchmark prints of a run.
 *
 * C and C++, since OCaml's hooks are C.  Pauses may be noted by any thread. */
#ifndef ALLOMON_BENCHMARKS_RUNTIME_PEERS_PAUSES_H_
#define ALLOMON_BENCHMARKS_RUNTIME_PEERS_PAUSES_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { kMostPauses = 1 << 22 };
/* Nanoseconds of the clock, and of the processor time of the thread that collects. */
static uint64_t wall_pauses_ns[kMostPauses];
static uint64_t cpu_pauses_ns[kMostPauses];
static long pause_count;
/* Of these, those before the run's end: no full collection after it. */
static long run_pause_count;

static inline uint64_t Now(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns the number of the pause. */
static inline long NotePause(uint64_t wall_ns, uint64_t cpu_ns) {
  const long i = __atomic_fetch_add(&pause_count, 1, __ATOMIC_RELAXED);
  if (i >= kMostPauses) abort();
  wall_pauses_ns[i] = wall_ns;
  cpu_pauses_ns[i] = cpu_ns;
  return i;
}

static inline int CompareTimes(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a;
  const uint64_t y = *(const uint64_t*)b;
  return x < y ? -1 : x > y;
}

/* Half, 99 %, 99.9 % and all of the pauses are not longer. */
static inline void PrintTimes(uint64_t* times_ns) {
  static const double kParts[] = {.5, .99, .999, 1};
  qsort(times_ns, (size_t)run_pause_count, sizeof *times_ns, CompareTimes);
  for (int i = 0; i < 4; ++i) {
    const long last = run_pause_count - 1;
    printf(" %.3f", run_pause_count == 0 ? 0 : (double)times_ns[(long)(kParts[i] * last)] / 1e6);
  }
}

static double wall_seconds, cpu_seconds;
static long peak_mib;

/* Called when the threads have ended. */
static inline void EndRun(uint64_t started_ns) {
  struct rusage usage;
  run_pause_count = pause_count;
  getrusage(RUSAGE_SELF, &usage);
  wall_seconds = (double)(Now(CLOCK_MONOTONIC) - started_ns) / 1e9;
  cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  peak_mib = usage.ru_maxrss / 1024;
}

static inline long ResidentMib(void) {
  FILE* file = fopen("/proc/self/statm", "r");
  long all = 0;
  long resident = 0;
  if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2) abort();
  fclose(file);
  return resident * 4 / 1024;
}

/* Called after a full collection that found no live data.  Prints a line: checksum, seconds,
 * processor seconds, peak MiB, resident MiB two seconds from now, number of pauses, their
 * percentiles in ms by the clock and by the processor, and the mean and longest time to safepoint
 * in ms. */
static inline void PrintRun(long checksum, double mean_stop_ms, double longest_stop_ms) {
  const struct timespec two_seconds = {2, 0};
  nanosleep(&two_seconds, NULL);
  printf("%ld %.3f %.3f %ld %ld %ld", checksum, wall_seconds, cpu_seconds, peak_mib, ResidentMib(),
         run_pause_count);
  PrintTimes(wall_pauses_ns);
  PrintTimes(cpu_pauses_ns);
  printf(" %.3f %.3f\n", mean_stop_ms, longest_stop_ms);
}

#endif /* ALLOMON_BENCHMARKS_RUNTIME_PEERS_PAUSES_H_ */
