/* The manual page's example, for the entire program, around a program with one hot function. */
#include <mon.h>
#include <stdio.h>
#include <stdlib.h>

extern etext();

#define nfunc 300

volatile unsigned sink;

void hot(unsigned n) {
  unsigned i;
  for (i = 0; i < n; i++) sink = sink * 1664525u + 1013904223u + (sink >> 3);
}

void warm(unsigned n) {
  unsigned i;
  for (i = 0; i < n; i++) sink = sink * 1664525u + 1013904223u + (sink >> 3);
}

int main(int argc, char **argv) {
  unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100, i;
  unsigned bufsize =
      (sizeof(struct hdr) + (nfunc * sizeof(struct cnt)) + (((unsigned)etext - 4) / 2)) /
      sizeof(WORD);
  WORD *buf = malloc(bufsize * sizeof(WORD));

  monitor((int (*)())4, etext, buf, bufsize, nfunc);
  /* One after the other: warm then takes many ticks on end, however the threads of a busy machine
   * take turns. */
  for (i = 0; i < rounds; i++) hot(3000000);
  for (i = 0; i < rounds; i++) warm(300000);
  monitor((int (*)())0, (int (*)())0, 0, 0, 0);
  return 0;
}
