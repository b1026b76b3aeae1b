// The host of the crossings: `host ROW [ARGUMENT...]`.  See rows.h.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "tests/stress/crossing/rows.h"

namespace crossing {
namespace {

struct Row {
  const char* name;
  int (*run)(Arguments);
};

constexpr Row kRows[] = {
    {"fork", Fork},
    {"unload", Unload},
    {"keys", KeyDestructors},
    {"exit", ThreadExit},
    {"cancel", AsynchronousCancel},
    {"last", LastThread},
    {"signals", Signals},
    {"seccomp", Seccomp},
    {"limit", LimitLater},
    {"limited", LimitBefore},
    {"exec", Exec},
    {"cancelled", Cancelled},
    {"saved", CancelledUntilSaved},
    {"told", CancelledUntilTold},
    {"end", CancelledEnd},
};

// Uses freed blocks, for a guard to find, if the environment requests it.
void MisuseMemory() {
  if (getenv("CROSSING_MISUSE") == nullptr) return;
  for (int i = 0; i < 2000; ++i) {
    char* volatile block = static_cast<char*>(malloc(64));
    block[0] = 1;
    free(block);
    block[1] = static_cast<char>(block[0] + 1);
  }
  printf("misuse was not found\n");
}

// Prints how often Counted() was called, before anything else may fail.
void SayCounted() {
  const char* const path = getenv("CROSSING_COUNTED");
  if (path == nullptr) return;
  if (FILE* const file = fopen(path, "w")) {
    fprintf(file, "%lu\n", counted.load());
    fclose(file);
  }
}

// Lives as long as the process, so that a profile of what lives is not empty.
void* volatile g_kept = nullptr;

// Uses enough processor time that a profile of it is not empty: it counts hundredths of a second.
void UseTime() {
  constexpr clock_t kTime = CLOCKS_PER_SEC * 3 / 100;
  const clock_t end = clock() + kTime;
  while (clock() < end) Compute(1);
}

void CopyToStderr(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  char text[512];
  const ssize_t bytes = file < 0 ? -1 : read(file, text, sizeof(text));
  if (bytes > 0 && write(STDERR_FILENO, text, static_cast<size_t>(bytes)) != bytes) return;
  if (file >= 0) close(file);
}

// Says in which system call each thread waits, or that it runs, and ends the host.  It may have
// interrupted malloc, but nothing is certain in a host that hangs.
void OnAlarm(int) {
  if (DIR* const tasks = opendir("/proc/self/task")) {
    while (const dirent* const task = readdir(tasks)) {
      char path[64];
      snprintf(path, sizeof(path), "/proc/self/task/%.16s/syscall", task->d_name);
      CopyToStderr(path);
    }
  }
  signal(SIGALRM, SIG_DFL);
  raise(SIGALRM);
}

int Run(const Row& row, Arguments arguments) {
  signal(SIGALRM, OnAlarm);
  alarm(40);  // a host that hangs is a failure
  g_kept = malloc(1 << 20);
  if (getenv("CROSSING_TIME") != nullptr) UseTime();
  StartColumn();
  int status = 0;
  {
    const OnThread here;
    status = row.run(arguments);
  }
  if (const char* const error = FinishColumn()) {
    printf("%s\n", error);
    status = 100;
  }
  MisuseMemory();
  SayCounted();
  return status;
}

}  // namespace
}  // namespace crossing

int main(int argc, char** argv) {
  for (const crossing::Row& row : crossing::kRows) {
    if (argc > 1 && strcmp(argv[1], row.name) == 0) return crossing::Run(row, argv + 2);
  }
  return 101;
}
