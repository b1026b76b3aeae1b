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
