// A position-dependent host that takes the addresses of functions that it does not define: these
// are the addresses of its own jumps to the functions.
#include <cstdio>
#include <cstdlib>

void* (*volatile g_malloc)(size_t) = malloc;
void (*volatile g_free)(void*) = free;

int main() {
  for (int i = 0; i < 1000; ++i) g_free(g_malloc(1000));
  printf("done\n");
  return 0;
}
