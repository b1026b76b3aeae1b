#include "tests/profile/hooked.h"

#include <time.h>

#include "allocator/allocator.h"

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

namespace hooked {
namespace {

// Keeps the compiler from merging calls or treating functions as pure.
inline void Barrier() { asm volatile("" : : : "memory"); }

long ThreadMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

NOINLINE void Leaf() { Barrier(); }

NOINLINE void CallsTwice(Callee callee) {
  callee();
  Leaf();
  callee();
  Barrier();
}

NOINLINE void Recurse(int depth, Callee callee) {
  if (depth == 0) {
    callee();
  } else {
    Recurse(depth - 1, callee);
  }
  Barrier();
}

NOINLINE int TailCalled(int n) {
  Barrier();
  return n + 1;
}
NOINLINE int TailCalls(int n) { return TailCalled(n * 2); }

NOINLINE void Throws() {
  Leaf();
  throw 1;
}
NOINLINE int Catches() {
  try {
    Throws();
  } catch (int value) {
    Leaf();
    return value;
  }
  return 0;
}

NOINLINE void Jumps(jmp_buf& buffer) {
  Leaf();
  longjmp(buffer, 1);
}
NOINLINE int CatchesJump() {
  jmp_buf buffer;
  if (setjmp(buffer) == 0) Jumps(buffer);
  Leaf();
  Barrier();
  return 1;
}

NOINLINE long ManyArguments(long a, long b, long c, long d, long e, long f, long g, long h) {
  Barrier();
  return a + b * 10 + c + d + e + f + g * 100 + h;
}
NOINLINE long CallsManyArguments() {
  Leaf();
  const long result = ManyArguments(1, 2, 3, 4, 5, 6, 7, 8);
  Barrier();
  return result;
}

NOINLINE double TakesDoubles(double a, double b, float c) {
  Barrier();
  return a * b + c;
}

NOINLINE Sums TakesAllRegisters(long a, long b, long c, long d, long e, long f, long g, long h,
                                double p, double q, double r, double s, double t, double u,
                                double v, double w) {
  return {{a, b, c, d, e, f, g, h}, {p, q, r, s, t, u, v, w}};
}

NOINLINE void* Allocates(size_t size_bytes) {
  void* const block = allomon::SamplingMalloc(size_bytes);
  Barrier();
  return block;
}
NOINLINE void* AllocatesAfterCall(size_t size_bytes) {
  Leaf();
  void* const block = allomon::SamplingMalloc(size_bytes);
  Barrier();
  return block;
}

NOINLINE void HandleSignal(int) { Barrier(); }

NOINLINE void LoopsInLeaf(const volatile bool* stop) {
  while (!*stop) Barrier();
}
NOINLINE void LoopsInLeafWithFrame(const volatile bool* stop) {
  volatile char room[256];
  for (unsigned i = 0; !*stop; ++i) room[i % sizeof(room)] = 1;
}
NOINLINE void LoopsAfterLeaf(const volatile bool* stop) {
  Leaf();
  while (!*stop) Barrier();
  Barrier();
}
// The stack pointer is below the frame that the callee had.
NOINLINE void LoopsBelowLeaf(const volatile bool* stop) {
  Leaf();
  volatile char* const room = static_cast<char*>(__builtin_alloca(*stop ? 64 : 256));
  while (!*stop) *room = 1;
  Barrier();
}

NOINLINE void Burn(long milliseconds) {
  const long end = ThreadMilliseconds() + milliseconds;
  while (ThreadMilliseconds() < end) {
    for (int i = 0; i < 10000; ++i) Barrier();
  }
}

}  // namespace hooked
