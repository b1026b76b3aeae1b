#include <benchmark/benchmark.h>

#include "tracker/gates/benchmark_profile.h"

namespace allomon::internal {
namespace {

TimedLoop g_loop;

}  // namespace

TimedLoop& CurrentTimedLoop() { return g_loop; }

}  // namespace allomon::internal

// The linker's --wrap=f redirects calls of f to __wrap_f, and calls of __real_f to f.  Member
// functions take `this` as their first argument in the C++ ABI, hence the plain pointers.  A
// function that begins counting sets the flag last, and one that ends it clears the flag first, so
// that the library's own work is not counted.
using allomon::internal::CurrentTimedLoop;

extern "C" {

void __real__ZN9benchmark5State16StartKeepRunningEv(benchmark::State*);
void __real__ZN9benchmark5State17FinishKeepRunningEv(benchmark::State*);
void __real__ZN9benchmark5State11PauseTimingEv(benchmark::State*);
void __real__ZN9benchmark5State12ResumeTimingEv(benchmark::State*);

void __wrap__ZN9benchmark5State16StartKeepRunningEv(benchmark::State* state) {
  __real__ZN9benchmark5State16StartKeepRunningEv(state);
  ++CurrentTimedLoop().begun;
  CurrentTimedLoop().running = true;
}

void __wrap__ZN9benchmark5State17FinishKeepRunningEv(benchmark::State* state) {
  CurrentTimedLoop().running = false;
  __real__ZN9benchmark5State17FinishKeepRunningEv(state);
}

void __wrap__ZN9benchmark5State11PauseTimingEv(benchmark::State* state) {
  CurrentTimedLoop().running = false;
  __real__ZN9benchmark5State11PauseTimingEv(state);
}

void __wrap__ZN9benchmark5State12ResumeTimingEv(benchmark::State* state) {
  __real__ZN9benchmark5State12ResumeTimingEv(state);
  CurrentTimedLoop().running = true;
}

}  // extern "C"
