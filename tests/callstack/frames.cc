#include "tests/callstack/frames.h"

#include <alloca.h>
#include <stdlib.h>
#include <string.h>

namespace allomon::testing {
namespace {

// Keeps a call from becoming a jump, and memory from being optimised away.
inline void Keep(void* p) { asm volatile("" : : "r"(p) : "memory"); }

struct Call {
  Body body;
  void* argument;
};

thread_local Call* pending = nullptr;

int CompareAndCall(const void* a, const void* b) {
  if (Call* call = pending) {
    pending = nullptr;
    call->body(call->argument);
  }
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

// One nesting step: the rest of CallThroughAll.
struct Rest {
  int step;
  Call call;
};

void Continue(void* argument) {
  Rest& rest = *static_cast<Rest*>(argument);
  switch (rest.step++) {
    case 0:
      return CallPlainly(Continue, argument);
    case 1:
      return CallWithLargeFrame(Continue, argument);
    case 2:
      return CallWithAlloca(1000, Continue, argument);
    case 3:
      return CallRealigned(Continue, argument);
    case 4:
      return CallFromComparison(Continue, argument);
    default:
      rest.call.body(rest.call.argument);
      Keep(argument);
  }
}

}  // namespace

__attribute__((noinline)) void CallPlainly(Body body, void* argument) {
  body(argument);
  Keep(argument);
}

__attribute__((noinline)) void CallWithLargeFrame(Body body, void* argument) {
  char local[40000];
  Keep(local);
  body(argument);
  Keep(local);
}

__attribute__((noinline)) void CallWithAlloca(int bytes, Body body, void* argument) {
  void* local = alloca(bytes);
  Keep(local);
  body(argument);
  Keep(local);
}

__attribute__((noinline)) void CallRealigned(Body body, void* argument) {
  alignas(64) char local[64];
  void* more = alloca(64 + (reinterpret_cast<unsigned long>(argument) & 8));
  Keep(local);
  Keep(more);
  body(argument);
  Keep(local);
}

__attribute__((noinline)) void CallFromComparison(Body body, void* argument) {
  int numbers[] = {3, 1, 2, 5, 4};
  Call call = {body, argument};
  pending = &call;
  qsort(numbers, 5, sizeof(int), CompareAndCall);
  Keep(numbers);
}

__attribute__((noinline)) void CallThroughAll(Body body, void* argument) {
  Rest rest = {0, {body, argument}};
  Continue(&rest);
  Keep(&rest);
}

__attribute__((noinline)) void CallAtDepth(int depth, Body body, void* argument) {
  if (depth <= 1) {
    body(argument);
  } else {
    CallAtDepth(depth - 1, body, argument);
  }
  Keep(argument);
}

void* AddressOfPlain() { return reinterpret_cast<void*>(&CallPlainly); }

}  // namespace allomon::testing
