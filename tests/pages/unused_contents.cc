// Asks for more than it uses, for pages_test.py: prints the bytes that each function's blocks never
// use, and waits.
//
// Every block is written from its begin on, so what is left is zero.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Kind {
  const char* function;
  char* (*allocate)(size_t bytes, size_t used);
  size_t bytes, used;
  int blocks;
};

}  // namespace

extern "C" {
#define ALLOCATE(NAME, CALL)                                        \
  __attribute__((noinline)) char* NAME(size_t bytes, size_t used) { \
    char* const block = static_cast<char*>(CALL);                   \
    return static_cast<char*>(memset(block, 1, used));              \
  }
ALLOCATE(Reserve, malloc(bytes))
ALLOCATE(FillAll, malloc(bytes))
ALLOCATE(FillPart, malloc(bytes))
ALLOCATE(NeverWrite, calloc(1, bytes))
// Like structures that end in null pointers.
ALLOCATE(EndInNull, malloc(bytes))
}

namespace {

constexpr size_t kReservedBytes = size_t{1} << 30;

constexpr Kind kKinds[] = {
    {"Reserve", Reserve, kReservedBytes, kReservedBytes / 20, 1},
    {"FillAll", FillAll, 8000, 8000, 1000},
    {"FillPart", FillPart, 4096, 1000, 1000},
    {"NeverWrite", NeverWrite, 8192, 0, 1000},
    {"EndInNull", EndInNull, 96, 80, 1000},
};

char* volatile g_kept[5000];

}  // namespace

int main() {
  int kept = 0;
  for (const Kind& kind : kKinds) {
    for (int i = 0; i < kind.blocks; ++i) g_kept[kept++] = kind.allocate(kind.bytes, kind.used);
    printf("%s %zu\n", kind.function, (kind.bytes - kind.used) * static_cast<size_t>(kind.blocks));
  }
  printf("ready\n");
  fflush(stdout);
  char line[64];
  if (fgets(line, sizeof(line), stdin) == nullptr) return 1;
  printf("done\n");
  return 0;
}
