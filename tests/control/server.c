// A server for tests: reads one command per line from its standard input, and answers each by a
// line.  a N: allocates N MiB in blocks of 64 bytes and frees them.  l N: leaks N MiB in blocks of
// 1,000 bytes.  k N: as l, but refers to them until the next k.  t N: as a, on a thread with the
// smallest stack.  f: forks a child that is a server itself, on a pipe that the parent passes lines
// on to as "c LINE".  d: changes its folder to the root.  q: ends.
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* volatile g_kept;

__attribute__((noinline)) static void Churn(long mib) {
  for (long i = 0; i < mib * (1 << 20) / 64; ++i) {
    g_kept = malloc(64);
    free(g_kept);
  }
}

__attribute__((noinline)) static void Leak(long mib) {
  for (long i = 0; i < mib * (1 << 20) / 1000; ++i) g_kept = memset(malloc(1000), 1, 1000);
}

static void* volatile g_chain;

__attribute__((noinline)) static void Keep(long mib) {
  g_chain = NULL;
  for (long i = 0; i < mib * (1 << 20) / 1000; ++i) {
    void** const block = malloc(1000);
    *block = g_chain;
    g_chain = block;
  }
}

static void* ChurnOnThread(void* mib) {
  Churn((long)mib);
  return NULL;
}

static void ChurnOnSmallStack(long mib) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, ChurnOnThread, (void*)mib) != 0) abort();
  pthread_join(thread, NULL);
}

static FILE* g_child = NULL;
static pid_t g_child_pid = 0;

static void Fork(void) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  fflush(stdout);
  g_child_pid = fork();
  if (g_child_pid == 0) {
    dup2(ends[0], STDIN_FILENO);
    close(ends[1]);
    // The child must not use input that the parent has buffered.
    setvbuf(stdin, NULL, _IONBF, 0);
    return;
  }
  close(ends[0]);
  g_child = fdopen(ends[1], "w");
  setvbuf(g_child, NULL, _IOLBF, 0);
  printf("%d\n", (int)g_child_pid);
}

int main(void) {
  setvbuf(stdin, NULL, _IONBF, 0);
  setvbuf(stdout, NULL, _IOLBF, 0);
  char line[256];
  printf("ready\n");
  while (fgets(line, sizeof line, stdin) != NULL && line[0] != 'q') {
    const long number = atol(line + 1);
    if (line[0] == 'c') {
      fputs(line + 2, g_child);  // the child answers
      continue;
    }
    if (line[0] == 'f') {
      Fork();
      continue;
    }
    if (line[0] == 'a') Churn(number);
    if (line[0] == 'l') Leak(number);
    if (line[0] == 'k') Keep(number);
    if (line[0] == 'd' && chdir("/") != 0) abort();
    if (line[0] == 't') ChurnOnSmallStack(number);
    printf("done\n");
  }
  if (g_child != NULL) fclose(g_child);
  if (g_child_pid > 0) waitpid(g_child_pid, NULL, 0);
  return 0;
}
