// A position-dependent host that takes the addresses of functions which it does not define: the
// addresses are those of its own jumps to them.
#include <cstdio>
#include <cstdlib>

void* (*volatile g_malloc)(size_t) = malloc;
void (*volatile g_free)(void*) = free;

int main() {
  for (int i = 0; i < 1000; ++i) g_free(g_malloc(1000));
  printf("done\n");
  return 0;
}
