// The host of the crossings: `host ROW [ARGUMENT...]`.  See rows.h.
#include <unistd.h>

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

int Run(const Row& row, Arguments arguments) {
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
