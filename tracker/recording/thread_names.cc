#include "tracker/recording/thread_names.h"

#include <sys/prctl.h>

#include <cstdint>
#include <cstring>

#include "tracker/base/large_object.h"
#include "tracker/base/tls.h"
#include "tracker/recording/recorder_lock.h"

namespace allomon::recording {
namespace {

__thread ThreadName own_name __attribute__((ALLOMON_TLS_MODEL));

// Names given to other threads, until those threads take them.  A later name may displace an
// earlier one.
struct Given {
  pthread_t thread;  // 0: none
  ThreadName name;
};
constexpr size_t kGivens = 256;
ALLOMON_LARGE_ZEROS Given g_given[kGivens];

Given& PlaceOf(pthread_t thread) {
  // A thread's control block lies at the end of its stack.
  return g_given[(thread >> 12) * 0x9e3779b1 % kGivens];
}

ThreadName Cut(const char* text) {
  ThreadName name = {};
  strncpy(name.text, text, sizeof(name.text) - 1);
  return name;
}

}  // namespace

ThreadName TakeOwnName() {
  Given& given = PlaceOf(pthread_self());
  if (given.thread == pthread_self()) {
    own_name = given.name;
    given = {};
  }
  return own_name;
}

void NoteThreadName(pthread_t thread, const char* name) {
  if (thread == pthread_self()) {
    own_name = Cut(name);
    return;
  }
  const RecorderHold hold;
  PlaceOf(thread) = {thread, Cut(name)};
}

ThreadName NameByKernel() {
  ThreadName name = {};
  prctl(PR_GET_NAME, name.text);
  return name;
}

}  // namespace allomon::recording
