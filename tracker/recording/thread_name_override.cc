// Learns the names that the program gives its threads: this pthread_setname_np and this prctl
// override the C library's.  See thread_names.h, and host_filter.h for the rest of prctl.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdarg>

#include "tracker/recording/host_filter.h"
#include "tracker/recording/thread_names.h"

namespace allomon::recording {
namespace {

using SetName = int (*)(pthread_t, const char*);
using Prctl = int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long);

SetName NextSetName() {
  static const SetName next = reinterpret_cast<SetName>(dlsym(RTLD_NEXT, "pthread_setname_np"));
  return next;
}

Prctl NextPrctl() {
  static const Prctl next = reinterpret_cast<Prctl>(dlsym(RTLD_NEXT, "prctl"));
  return next;
}

}  // namespace
}  // namespace allomon::recording

extern "C" __attribute__((visibility("default"))) int pthread_setname_np(pthread_t thread,
                                                                         const char* name) {
  const auto next = allomon::recording::NextSetName();
  const int error = next == nullptr ? ENOSYS : next(thread, name);
  if (error == 0) allomon::recording::NoteThreadName(thread, name);
  return error;
}

extern "C" __attribute__((visibility("default"))) int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long arguments[4];  // NOLINT: as the kernel's interface has it
  for (unsigned long& argument : arguments) argument = va_arg(list, unsigned long);
  va_end(list);
  const auto next = allomon::recording::NextPrctl();
  if (next == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  allomon::recording::NoteFilter(option);
  const int result = next(option, arguments[0], arguments[1], arguments[2], arguments[3]);
  if (option == PR_SET_NAME && result == 0) {
    allomon::recording::NoteThreadName(pthread_self(), reinterpret_cast<const char*>(arguments[0]));
  }
  return result;
}
