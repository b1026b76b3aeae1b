// Allocates 32 MiB in a function whose name and line a report must show.
#include <stdlib.h>

void* AllocateKnown(void) { return malloc(1 << 15); }  // line 4

int main(void) {
  int missing = 0;
  for (int i = 0; i < 1024; ++i) missing += AllocateKnown() == NULL;
  return missing != 0;
}
