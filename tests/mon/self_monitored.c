/* Compiled and linked for profiling; its source does not mention the profiler. */
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { return fib(35) == 9227465 ? 0 : 1; }
