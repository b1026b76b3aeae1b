// A host that is built with -pg: gprof's timer sends it SIGPROF.  It uses half a second of
// processor time in Work, and a quarter in Rest: for gprof_test.py.
#include <stdio.h>
#include <time.h>

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

volatile unsigned long sink;

// Called so often that mcount is interrupted as well, and seldom enough for it to take little.
__attribute__((noinline)) void Add(unsigned long i) { sink += i * i; }

__attribute__((noinline)) void Work(double end) {
  while (Seconds() < end) {
    for (unsigned long i = 0; i < 10000; ++i) {
      Add(i);
      for (int k = 0; k < 200; ++k) sink ^= i + (unsigned long)k;
    }
  }
}

__attribute__((noinline)) void Rest(double end) {
  while (Seconds() < end) {
    for (unsigned long i = 0; i < 100000; ++i) sink += i;
  }
}

int main(void) {
  Work(Seconds() + 0.5);
  Rest(Seconds() + 0.25);
  puts("fine");
  return 0;
}
