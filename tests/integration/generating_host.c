/* Makes a function while it runs, and tells perf its name.  The function keeps a frame pointer. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void* (*Generated)(size_t size, void* (*allocate)(size_t));

/* push rbp; mov rbp, rsp; call rsi; pop rbp; ret */
static const unsigned char kCode[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};

__attribute__((noinline)) void* CallGenerated(Generated function, size_t size) {
  void* volatile block = function(size, malloc);
  return block;
}

int main(void) {
  char* const code =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 2;
  memcpy(code + 64, kCode, sizeof kCode);
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  FILE* const map = fopen(path, "w");
  if (map == NULL) return 3;
  fprintf(map, "%lx %zx JS:~handler /srv/app.js:12:3\n", (unsigned long)(uintptr_t)(code + 64),
          sizeof kCode);
  fclose(map);
  for (int i = 0; i < 100; ++i) CallGenerated((Generated)(uintptr_t)(code + 64), 5000);
  return 0;
}
