// Catches threads as they start: this pthread_create overrides the C library's, also for
// std::thread.  A thread that is made without pthread_create (by clone) is included only by
// Start(), if the thread exists by then.
#include <dlfcn.h>
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <new>

#include "tracker/profile/hooks/entry_hooks.h"
#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/thread_attachment.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/sources/time_session.h"

// A static program has no next pthread_create to look up.  The C library's archive has the same
// function under this name, which the shared C library does not show.
extern "C" int __pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)
    __attribute__((weak));

namespace allomon::internal {
namespace {

// A weak reference takes no member out of an archive, and pthread_create is ours.  The C library's
// thrd_create calls its pthread_create, so that the member is linked.
[[maybe_unused]] __attribute__((used)) constexpr auto kLinksPthreadCreate = &thrd_create;

using StartRoutine = void* (*)(void*);
using PthreadCreate = int (*)(pthread_t*, const pthread_attr_t*, StartRoutine, void*);

PthreadCreate NextPthreadCreate() {
  static const PthreadCreate next =
      __pthread_create != nullptr
          ? &__pthread_create
          : reinterpret_cast<PthreadCreate>(dlsym(RTLD_NEXT, "pthread_create"));
  return next;
}

struct Start {
  StartRoutine routine;
  void* argument;
  size_t stack_bytes;
};

// Returns the size of a thread's stack with these attributes, guard and TLS included; 0 if it is
// unknown.
size_t StackBytes(const pthread_attr_t* attributes) {
  size_t bytes = 0;
  if (attributes != nullptr) {
    pthread_attr_getstacksize(attributes, &bytes);
    return bytes;
  }
  pthread_attr_t ordinary;
  if (pthread_getattr_default_np(&ordinary) != 0) return 0;
  pthread_attr_getstacksize(&ordinary, &bytes);
  pthread_attr_destroy(&ordinary);
  return bytes;
}

// The profiler's own memory does not count as the program's allocation.
Start* NewStart(const Start& start) {
  const BusyScope busy;
  return new (std::nothrow) Start(start);
}

Start TakeStart(void* start) {
  const BusyScope busy;
  const Start copy = *static_cast<Start*>(start);
  delete static_cast<Start*>(start);
  return copy;
}

void* RunProfiled(void* start) {
  const Start program = TakeStart(start);
  AttachThread(program.stack_bytes);
  StartThreadTimer();
  return program.routine(program.argument);
}

bool ReachesThreads() {
  return recording.on.load(std::memory_order_relaxed) || TimersRun() ||
         CurrentHookMode() != HookMode::kNone;
}

int CreateThread(pthread_t* thread, const pthread_attr_t* attributes, StartRoutine routine,
                 void* argument) {
  const PthreadCreate next = NextPthreadCreate();
  if (next == nullptr) return ENOSYS;
  if (!ReachesThreads()) return next(thread, attributes, routine, argument);
  Start* const start = NewStart({routine, argument, StackBytes(attributes)});
  if (start == nullptr) return next(thread, attributes, routine, argument);
  const int error = next(thread, attributes, RunProfiled, start);
  if (error != 0) TakeStart(start);
  return error;
}

}  // namespace
}  // namespace allomon::internal

extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument) {
  return allomon::internal::CreateThread(thread, attributes, routine, argument);
}
