#include "benchmarks/callstack_frames.h"

namespace allomon::benchmarks {
namespace {

// Prevents a tail call, and keeps a local array in memory.
inline void Keep(void* p) { asm volatile("" : : "r"(p) : "memory"); }

void Second(int depth, Body body, void* argument);
void Third(int depth, Body body, void* argument);

__attribute__((noinline)) void First(int depth, Body body, void* argument) {
  if (depth <= 1) {
    body(argument);
  } else {
    Second(depth - 1, body, argument);
  }
  Keep(argument);
}

__attribute__((noinline)) void Second(int depth, Body body, void* argument) {
  int local[10];
  Keep(local);
  if (depth <= 1) {
    body(argument);
  } else {
    Third(depth - 1, body, argument);
  }
  Keep(local);
}

__attribute__((noinline)) void Third(int depth, Body body, void* argument) {
  int local[50];
  Keep(local);
  if (depth <= 1) {
    body(argument);
  } else {
    First(depth - 1, body, argument);
  }
  Keep(local);
}

}  // namespace

void UnderFrames(int depth, Body body, void* argument) { First(depth, body, argument); }

}  // namespace allomon::benchmarks
