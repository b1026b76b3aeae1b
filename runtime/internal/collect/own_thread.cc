#include "runtime/internal/collect/own_thread.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>

#include "tracker/heap_client.h"

namespace allomon::gc::internal {
namespace {

bool StartThread(pthread_t* thread, void* (*run)(void*), void* argument) {
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // The stack size suffices for its frames and the C library's data.
  pthread_attr_setstacksize(&attributes, std::max<size_t>(PTHREAD_STACK_MIN, 256 << 10));
  const bool started = pthread_create(thread, &attributes, run, argument) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  if (started) pthread_setname_np(*thread, "allomon-gc");
  return started;
}

}  // namespace

size_t CountProcessors() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  if (sched_getaffinity(0, sizeof(processors), &processors) != 0) return 1;
  return static_cast<size_t>(CPU_COUNT(&processors));
}

// The C library's malloc may call user code here, which must not meet a half-started thread.
bool StartOwnThread(pthread_t* thread, void* (*run)(void*), void* argument) {
  bool started = false;
  heap_client::RunUnjudged([&] { started = StartThread(thread, run, argument); });
  return started;
}

}  // namespace allomon::gc::internal
