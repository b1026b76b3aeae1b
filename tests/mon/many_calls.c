/* Calls in all the ways that C has; compiled for profiling.  prof must count as callgrind. */
#include <stdlib.h>

volatile int sink;

static int is_odd(unsigned n);
static int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
static int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }

int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void sort_some(void) {
  int numbers[1000], i;
  for (i = 0; i < 1000; i++) numbers[i] = (i * 7919) % 1009;
  qsort(numbers, 1000, sizeof(int), compare);
  sink = numbers[500];
}

static int twice(int n) { return 2 * n; }
static int thrice(int n) { return 3 * n; }
static int apply(int (*function)(int), int times) {
  int sum = 0, i;
  for (i = 0; i < times; i++) sum += function(i);
  return sum;
}

static void at_end(void) { sink = twice(sink); }

int main(void) {
  atexit(at_end);
  sink = is_even(1001) + ackermann(2, 9);
  sort_some();
  sink = apply(twice, 77) + apply(thrice, 1234);
  return 0;
}
