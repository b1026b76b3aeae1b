// Ends with the status that its argument names.  Allocates 1,000 blocks of 1,000 bytes in each
// place that a word of its further arguments names, in their order: "thread", "child", "spawned",
// "atexit", "callback" (which qsort calls), "executed" (a program that is executed in its place).
// "names" names threads, "locks" locks the memory, "wait" allocates until it is killed.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void Expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "static_program: %s\n", what);
  _exit(99);
}

__attribute__((noinline)) void AllocateKnown(void) {
  for (int i = 0; i < 1000; ++i) {
    void* volatile block = malloc(1000);
    Expect(block != NULL, "no block");
  }
}

__attribute__((noinline)) static void* InThread(void* unused) {
  AllocateKnown();
  return unused;
}

static pthread_mutex_t g_named = PTHREAD_MUTEX_INITIALIZER;

static void* InNamedThread(void* unused) {
  pthread_mutex_lock(&g_named);
  AllocateKnown();
  return unused;
}

static void NameThreads(void) {
  char name[16];
  pthread_t thread;
  pthread_mutex_lock(&g_named);
  Expect(pthread_create(&thread, NULL, InNamedThread, NULL) == 0, "no named thread");
  Expect(pthread_setname_np(thread, "named worker") == 0, "no name of another thread");
  Expect(pthread_getname_np(thread, name, sizeof name) == 0, "no name is read");
  Expect(strcmp(name, "named worker") == 0, name);
  Expect(pthread_setname_np(pthread_self(), "named main") == 0, "no name of this thread");
  Expect(pthread_setname_np(pthread_self(), "more than 15 characters") != 0, "a long name");
  Expect(prctl(PR_SET_NAME, "main by prctl", 0, 0, 0) == 0, "no prctl");
  Expect(prctl(PR_GET_NAME, name, 0, 0, 0) == 0 && strcmp(name, "main by prctl") == 0, name);
  pthread_mutex_unlock(&g_named);
  pthread_join(thread, NULL);
}

static void Spawn(void) {
  char* arguments[] = {"true", NULL};
  pid_t child;
  int status = -1;
  Expect(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0, "posix_spawnp");
  Expect(waitpid(child, &status, 0) == child && status == 0, "spawned");
  Expect(posix_spawnp(&child, "no-such-program", NULL, NULL, arguments, environ) != 0, "spawned?");
  Expect(execvp("no-such-program", arguments) == -1, "executed?");
  AllocateKnown();
}

// Compares so that the C library's qsort, which has no frame pointers, is among the callers.
static int Compare(const void* a, const void* b) {
  static int is_done;
  if (!is_done++) AllocateKnown();
  return *(const int*)a - *(const int*)b;
}

static void Fork(void) {
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    AllocateKnown();
    _exit(5);
  }
  Expect(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5, "child");
}

static void Do(const char* word, char** program) {
  if (strcmp(word, "thread") == 0) {
    pthread_t thread;
    Expect(pthread_create(&thread, NULL, InThread, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
  } else if (strcmp(word, "child") == 0) {
    Fork();
  } else if (strcmp(word, "spawned") == 0) {
    Spawn();
  } else if (strcmp(word, "atexit") == 0) {
    atexit(AllocateKnown);
  } else if (strcmp(word, "callback") == 0) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof numbers[0], Compare);
  } else if (strcmp(word, "names") == 0) {
    NameThreads();
  } else if (strcmp(word, "locks") == 0) {
    // The limit of locked memory may be low.
    Expect(mlockall(MCL_CURRENT) == 0 || errno == ENOMEM || errno == EPERM, "mlockall");
    Expect(munlockall() == 0, "munlockall");
    AllocateKnown();
  } else if (strcmp(word, "executed") == 0) {
    AllocateKnown();
    char* arguments[] = {program[0], "6", NULL};
    execvp(program[0], arguments);
    Expect(0, "execvp");
  } else if (strcmp(word, "wait") == 0) {
    for (;;) AllocateKnown(), usleep(1000);
  } else {
    Expect(0, word);
  }
}

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) Do(argv[i], argv);
  return argc > 1 ? atoi(argv[1]) : 0;
}
