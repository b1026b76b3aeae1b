// A shared library with entry hooks.
__attribute__((noinline)) static int CallOnce(int (*callee)(int), int argument) {
  return callee(argument);
}

int CallTwice(int (*callee)(int), int argument) {
  return CallOnce(callee, CallOnce(callee, argument));
}
