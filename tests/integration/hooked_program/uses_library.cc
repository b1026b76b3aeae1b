// Calls a library with entry hooks, which calls back into the program.
int CallTwice(int (*callee)(int), int argument);

__attribute__((noinline)) int Callee(int argument) { return argument + 1; }

int main() {
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum = CallTwice(Callee, sum);
  return sum == 200 ? 0 : 1;
}
