/* Programs that monitor themselves by monitor(3C), one by each macro. */

#ifdef FEW_COUNTS
/* Calls more functions than its buffer has room to count. */
#include <mon.h>

extern int etext();
static WORD buffer[100000];
volatile int sink;

void often(void) { sink++; }
void seldom(void) { sink++; }

int main(void) {
  int i;
  monitor((int (*)())4, etext, buffer, sizeof(buffer) / sizeof(WORD), 1);
  for (i = 0; i < 100; i++) often();
  seldom();
  monitor(0, 0, 0, 0, 0);
  return 0;
}
#endif

#ifdef MON_ERRORS
/* Every mistake is named, and changes nothing.  The test compares standard error. */
#include <mon.h>
#include <stdio.h>

extern int etext();
static WORD buffer[100000];
static WORD other[100000];
#define SIZE (int)(sizeof(buffer) / sizeof(WORD))
#define LOW ((int (*)())4)

int main(void) {
  monitor(0, 0, 0, 0, 0);
  monitor(0, etext, buffer, SIZE, 10);
  monitor(etext, LOW, buffer, SIZE, 10);
  monitor(LOW, etext, buffer, 10, 10);
  monitor(LOW, etext, buffer, SIZE, -1);
  monitor_range(LOW, etext, buffer, SIZE, 1);
  monitor_hz(0);
  monitor(LOW, etext, buffer, SIZE, 10);
  if (monitor_error() != 0) return 1;
  monitor(LOW, etext, other, SIZE, 10);
  monitor_range(LOW, etext, other, SIZE, 10);
  monitor(0, 0, 0, 0, 0);
  return monitor_error() != 0;
}
#endif

#ifdef MON_THREADS
/* Four threads that call hooked functions a known number of times.  Prints two amounts of
 * processor time in nanoseconds, by the kernel's clocks: what the threads' own work took, all of
 * which the monitor sees, and what the process took from before the monitor's start to behind its
 * stop, more than which it cannot see.  Both hold however busy the machine is. */
#include <mon.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define THREADS 4
#define CALLS 200000

extern int etext();
static WORD buffer[400000];
volatile unsigned sinks[THREADS][16];
static long long worked_ns[THREADS];

static long long now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int leaf(int n, volatile unsigned *sink) {
  int i;
  for (i = 0; i < 100; i++) *sink = *sink * 1664525u + (unsigned)n;
  return n;
}

void *work(void *argument) {
  const long thread = (long)argument;
  const long long before_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
  int i;
  for (i = 0; i < CALLS; i++) leaf(i, sinks[thread]);
  worked_ns[thread] = now_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
  return argument;
}

int main(void) {
  pthread_t threads[THREADS];
  const long long before_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  long long least_ns = 0;
  long i;
  monitor_hz(1000);
  monitor((int (*)())4, etext, buffer, sizeof(buffer) / sizeof(WORD), 1000);
  for (i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)i);
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
  monitor(0, 0, 0, 0, 0);
  for (i = 0; i < THREADS; i++) least_ns += worked_ns[i];
  printf("%lld %lld\n", least_ns, now_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns);
  return monitor_error() != 0;
}
#endif

#ifdef TWO_RANGES
/* Samples itself and the C library, and prints where the C library is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mon.h>
#include <stdio.h>
#include <stdlib.h>

extern int etext();
static WORD buffer[200000];
static WORD library_buffer[800000];
volatile unsigned sink;

__attribute__((noinline)) void hot_in_program(void) {
  unsigned i;
  for (i = 0; i < 100000000; i++) sink = sink * 1664525u + i;
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void) {
  static int numbers[300000];
  Dl_info library;
  unsigned i, round;
  dladdr((void *)qsort, &library);
  monitor((int (*)())4, etext, buffer, sizeof(buffer) / sizeof(WORD), 0);
  /* From the start of the library, 3 MiB: more than its code, which is cut off. */
  monitor_range((int (*)())library.dli_fbase, (int (*)())((char *)library.dli_fbase + 0x300000),
                library_buffer, sizeof(library_buffer) / sizeof(WORD), 0);
  hot_in_program();
  for (round = 0; round < 20; round++) {
    for (i = 0; i < 300000; i++) numbers[i] = (int)(i * 1103515245u % 1000003u);
    qsort(numbers, 300000, sizeof(int), compare);
  }
  monitor(0, 0, 0, 0, 0);
  puts(library.dli_fname);
  return 0;
}
#endif
