// A program without any knowledge of Allomon, which makes the error that its argument names.
#include <cstdio>
#include <cstdlib>
#include <cstring>

__attribute__((noinline)) char* Take() {
  char* block = new char[64];
  block[0] = 1;
  return block;
}

__attribute__((noinline)) int Drop(char* block) {
  delete[] block;
  return 0;
}

__attribute__((noinline)) int Use(char* block) {
  *static_cast<volatile char*>(block) = 2;
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  for (int i = 0; i < 1000; ++i) Drop(Take());
  char* block = Take();
  if (strcmp(what, "mismatch") == 0) return free(block), puts("done"), 0;
  Drop(block);
  if (strcmp(what, "use-after-free") == 0) Use(block);
  if (strcmp(what, "double-free") == 0) Drop(block);
  puts("done");
}
