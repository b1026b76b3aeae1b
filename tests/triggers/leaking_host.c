// A host for triggers_test.py: carries out its arguments one after the other.
//
//   leak MIB       allocates blocks of 1,000 bytes, touches and keeps them
//   until-null     the same, until malloc() answers NULL
//   churn MIB      allocates and frees blocks of 1,000 bytes
//   free           frees the kept blocks
//   for SECONDS    churns for that time
//   grow MIB S     leaks MIB in S seconds, evenly
//   fork           continues as a child, for which the parent waits
//   small          runs the next command on a thread with the smallest stack
//   no-new-privs   prctl
//   filter         a seccomp filter that kills the process for opening a file
//   close-all      closes all descriptors from 3 on
//   fd-exhaust     takes all descriptors that are free
//   chdir DIR, chroot DIR, setuid ID, remove PATH
//   say TEXT       a line on standard output
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kBlockBytes = 1000 };

static void* volatile g_sink;

struct Kept {
  struct Kept* next;
};
static struct Kept* g_kept = NULL;

__attribute__((noinline)) static int LeakBlock(void) {
  struct Kept* const block = malloc(kBlockBytes);
  if (block == NULL) return 0;
  memset(block, 1, kBlockBytes);
  block->next = g_kept;
  g_kept = block;
  return 1;
}

static long BlocksOf(const char* mib) { return atol(mib) * (1 << 20) / kBlockBytes; }

static void Leak(long blocks) {
  for (long i = 0; i < blocks; ++i) LeakBlock();
}

__attribute__((noinline)) static void Churn(long blocks) {
  for (long i = 0; i < blocks; ++i) {
    g_sink = malloc(kBlockBytes);
    free(g_sink);
  }
}

static void FreeAll(void) {
  while (g_kept != NULL) {
    struct Kept* const block = g_kept;
    g_kept = block->next;
    free(block);
  }
}

static double Seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void Pause(void) {
  const struct timespec pause = {0, 1000000};
  nanosleep(&pause, NULL);
}

static void ChurnFor(double seconds) {
  const double end = Seconds() + seconds;
  while (Seconds() < end) {
    Churn(2000);
    Pause();
  }
}

static void Grow(long blocks, double seconds) {
  const double begin = Seconds();
  long done = 0;
  while (done < blocks) {
    const double share = (Seconds() - begin) / seconds;
    const long due = share >= 1 ? blocks : (long)(share * (double)blocks);
    Leak(due - done);
    done = due;
    Churn(200);
    Pause();
  }
}

static void ForkAndWait(void) {
  const pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) return;
  int status = 0;
  if (waitpid(child, &status, 0) != child) abort();
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static void Filter(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) abort();
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) abort();
}

static void Must(int result) {
  if (result == 0) return;
  perror("leaking_host");
  exit(98);
}

static char** g_next;

static void Run(void);

static void* RunOnThread(void* unused) {
  Run();
  return unused;
}

static void RunOnSmallStack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  Must(pthread_create(&thread, &attributes, RunOnThread, NULL));
  Must(pthread_join(thread, NULL));
}

static const char* Next(void) { return *g_next++; }

static int Is(const char* word, const char* name) { return strcmp(word, name) == 0; }

static void ExhaustDescriptors(void) {
  while (dup(0) >= 0) {
  }
}

static void Run(void) {
  const char* const word = Next();
  if (Is(word, "leak")) return Leak(BlocksOf(Next()));
  if (Is(word, "churn")) return Churn(BlocksOf(Next()));
  if (Is(word, "free")) return FreeAll();
  if (Is(word, "for")) return ChurnFor(atof(Next()));
  if (Is(word, "fork")) return ForkAndWait();
  if (Is(word, "small")) return RunOnSmallStack();
  if (Is(word, "filter")) return Filter();
  if (Is(word, "no-new-privs")) return Must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  if (Is(word, "chdir")) return Must(chdir(Next()));
  if (Is(word, "chroot")) return Must(chroot(Next()) != 0 || chdir("/") != 0);
  if (Is(word, "setuid")) return Must(setuid((uid_t)atoi(Next())));
  if (Is(word, "remove")) return Must(remove(Next()));
  if (Is(word, "fd-exhaust")) return ExhaustDescriptors();
  if (Is(word, "close-all")) {
    for (int fd = 3; fd < 1024; ++fd) close(fd);
  } else if (Is(word, "grow")) {
    const long blocks = BlocksOf(Next());
    Grow(blocks, atof(Next()));
  } else if (Is(word, "until-null")) {
    while (LeakBlock()) {
    }
  } else if (Is(word, "say")) {
    puts(Next());
    fflush(stdout);
  } else {
    fprintf(stderr, "leaking_host: %s is not known\n", word);
    exit(97);
  }
}

int main(int argc, char** argv) {
  (void)argc;
  g_next = argv + 1;
  while (*g_next != NULL) Run();
  return 0;
}
