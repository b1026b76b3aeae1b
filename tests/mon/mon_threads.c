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
