// Has its calls counted: ALLOMON_PROFILE=count.
#include <cstdio>

__attribute__((noinline)) int Step(int x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}

int main() {
  int x = 0;
  for (int i = 0; i < 1000; ++i) x = Step(x);
  printf("%d\n", x);
}
