// A host with labels of any bytes: reads one command per line, and answers each by a line. l VALUE
// COUNT: keeps COUNT blocks of 1,000 bytes under the label tenant; VALUE is hexadecimal.  f VALUE
// COUNT: does the same, and frees them.  q: ends.
#include <allomon/labels.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* volatile g_kept;

__attribute__((noinline)) static void Allocate(const char* tenant, long count, int keeps) {
  struct allomon_label_scope scope;
  allomon_label_push(&scope, "tenant", tenant);
  for (long i = 0; i < count; ++i) {
    g_kept = memset(malloc(1000), 1, 1000);
    if (!keeps) free(g_kept);
  }
  allomon_label_pop(&scope);
}

static void Decode(const char* hexadecimal, char* text) {
  unsigned byte = 0;
  while (sscanf(hexadecimal, "%2x", &byte) == 1) {
    *text++ = (char)byte;
    hexadecimal += 2;
  }
  *text = '\0';
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  char command = 0, hexadecimal[400] = "", tenant[200] = "";
  long count = 0;
  printf("ready\n");
  while (scanf(" %c", &command) == 1 && command != 'q') {
    if (scanf("%399s %ld", hexadecimal, &count) != 2) return 1;
    Decode(hexadecimal, tenant);
    Allocate(tenant, count, command == 'l');
    printf("done\n");
  }
  return 0;
}
