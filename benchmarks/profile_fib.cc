// The program that profile_costs.py times; it does nothing but call.  This file is compiled in
// every way that is compared.  The only difference is the code that the compiler adds to each
// function.
#include <cstdio>
#include <cstdlib>

// noinline, and written without a tail call that a compiler could turn into a loop.
__attribute__((noinline)) long Fib(long n) {
  if (n < 2) return n;
  const long a = Fib(n - 1);
  const long b = Fib(n - 2);
  asm volatile("");
  return a + b;
}

int main(int argc, char** argv) { printf("%ld\n", Fib(argc > 1 ? atol(argv[1]) : 38)); }
