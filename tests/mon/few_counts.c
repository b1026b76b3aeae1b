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
