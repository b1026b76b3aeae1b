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
