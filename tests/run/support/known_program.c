// Allocates known amounts: KNOWN_TOTAL, KNOWN_PEAK and KNOWN_LIVE of real_library_test.
//
//   known_program [KIDS [AND]]   forks KIDS children, which allocate 1000 blocks of 200 bytes each
//     AND: "wait" until a signal comes; "die" with all descriptors closed, by SIGKILL
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile block;

static void take(size_t bytes) {
  block = malloc(bytes);
  memset(block, 1, bytes);
}

static void take_and_keep(int count, size_t bytes) {
  for (int i = 0; i < count; ++i) take(bytes);
}

static void take_and_free(int count, size_t bytes) {
  for (int i = 0; i < count; ++i) {
    take(bytes);
    free(block);
  }
}

static void fork_child(void) {
  if (fork() != 0) return;
  take_and_keep(1000, 200);
  _exit(0);
}

int main(int argc, char** argv) {
  const int children = argc > 1 ? atoi(argv[1]) : 0;
  const char* const and_then = argc > 2 ? argv[2] : "";
  take_and_keep(1000, 100);
  take_and_free(1, 5000000);
  take_and_free(10000, 1000);
  for (int i = 0; i < children; ++i) fork_child();
  while (wait(NULL) > 0) {
  }
  if (strcmp(and_then, "wait") == 0) {
    if (write(1, "ready\n", 6) == 6) pause();
  }
  if (strcmp(and_then, "die") == 0) {
    for (int fd = 0; fd < 1024; ++fd) close(fd);
    take_and_keep(1000, 100);
    kill(getpid(), SIGKILL);
  }
  return 3;
}
