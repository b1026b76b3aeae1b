// Allocates 32 MiB in a function; a report must show its name and line.
#include <stdlib.h>

void* AllocateKnown(void) { return malloc(1 << 15); }  // line 4

int main(void) {
  int missing = 0;
  for (int i = 0; i < 1024; ++i) missing += AllocateKnown() == NULL;
  return missing != 0;
}
