// The threads of the process, as /proc/self/task lists them.
//
// Any thread, signal handlers; allocates nothing (opendir(3) does, with the program's malloc, which
// may not be ready before main), throws nothing.
//
//   VisitOwnThreads([](pid_t id) { ... });
#ifndef ALLOMON_TRACKER_BASE_OWN_THREADS_H_
#define ALLOMON_TRACKER_BASE_OWN_THREADS_H_

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdlib>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {

// Calls visit(id) for each thread.  Returns false if /proc cannot be read, or not to its end.
// Threads that start or end meanwhile are visited or not; a joined one may be listed for some
// microseconds.  Cost: a system call for 40 threads.
template <typename Visit>
bool VisitOwnThreads(Visit visit) {
  const int tasks = sys::Open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tasks < 0) return false;
  // On 64-bit Linux the kernel's structure is the C library's.
  alignas(dirent64) char entries[1024];
  ssize_t size_bytes;
  while ((size_bytes = sys::Getdents(tasks, entries, sizeof(entries))) > 0) {
    for (ssize_t at = 0; at < size_bytes;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
      const pid_t id = static_cast<pid_t>(atoi(entry->d_name));
      if (id > 0) visit(id);  // not "." and ".."
      at += entry->d_reclen;
    }
  }
  sys::Close(tasks);
  return size_bytes == 0;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_OWN_THREADS_H_
