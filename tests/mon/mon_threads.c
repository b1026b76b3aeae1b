/* Four threads that call hooked functions a known number of times, and burn time that they
 * measure themselves.  Prints the processor time of the whole process while the monitor
 * runs, in nanoseconds. */
#include <mon.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

#define THREADS 4
#define CALLS 200000

extern int etext();
static WORD buffer[400000];
volatile unsigned sinks[THREADS][16];

int leaf(int n, volatile unsigned *sink) {
  int i;
  for (i = 0; i < 100; i++) *sink = *sink * 1664525u + (unsigned)n;
  return n;
}

void *work(void *argument) {
  int i;
  for (i = 0; i < CALLS; i++) leaf(i, argument);
  return argument;
}

static long long used_ns(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000ll +
         (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ll;
}

int main(void) {
  pthread_t threads[THREADS];
  long long before, used;
  int i;
  monitor_hz(1000);
  monitor((int (*)())4, etext, buffer, sizeof(buffer) / sizeof(WORD), 1000);
  before = used_ns(); /* the time that the start takes is in no tick */
  for (i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, (void *)sinks[i]);
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
  used = used_ns() - before;
  monitor(0, 0, 0, 0, 0);
  printf("%lld\n", used);
  return monitor_error() != 0;
}
