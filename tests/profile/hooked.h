// Functions with entry hooks and no other change: hooked.cc is compiled with
// -fpatchable-function-entry=9.
#ifndef ALLOMON_TESTS_PROFILE_HOOKED_H_
#define ALLOMON_TESTS_PROFILE_HOOKED_H_

#include <csetjmp>
#include <cstddef>

namespace hooked {

// A function that the functions below call, so that tests can inspect the stack.
using Callee = void (*)();

void Leaf();
void CallsTwice(Callee callee);          // and calls Leaf() once
void Recurse(int depth, Callee callee);  // calls it at the bottom
int TailCalls(int n);                    // tail-calls TailCalled(n)
int TailCalled(int n);
void Throws();
int Catches();  // calls Throws() and then Leaf()
void Jumps(jmp_buf& buffer);
int CatchesJump();  // calls Jumps() and then Leaf()
// Takes two arguments on the stack, which its caller pushes over the remains of earlier calls.
long ManyArguments(long a, long b, long c, long d, long e, long f, long g, long h);
long CallsManyArguments();
double TakesDoubles(double a, double b, float c);
// Every register of the calling convention has an argument, one of them the result's address.
struct Sums {
  long integers[8];
  double doubles[8];
};
Sums TakesAllRegisters(long a, long b, long c, long d, long e, long f, long g, long h, double p,
                       double q, double r, double s, double t, double u, double v, double w);
void* Allocates(size_t size_bytes);
void* AllocatesAfterCall(size_t size_bytes);  // calls Leaf() first
void HandleSignal(int);
// Return as soon as *stop is set, which a signal handler does.
void LoopsAfterLeaf(const volatile bool* stop);
void LoopsInLeaf(const volatile bool* stop);
void LoopsInLeafWithFrame(const volatile bool* stop);
void LoopsBelowLeaf(const volatile bool* stop);
void Burn(long milliseconds);  // in the thread's processor time

}  // namespace hooked

#endif  // ALLOMON_TESTS_PROFILE_HOOKED_H_
