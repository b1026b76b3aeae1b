// Leaks, frees and forks on commands from its standard input, for live_profile_test.py.  Each line
// is one command, and the program answers when it has executed the command.  It is not built for
// Allomon: the library is preloaded.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kBlockBytes = 1000;
void* g_blocks[100000];
int g_count = 0;

// A handler that sends SIGTERM to a child.  The signal arrives before the child's fork has
// returned, and before any other handler of the fork has run there.
bool g_terminates_children = false;
void TerminateChild() {
  if (g_terminates_children) kill(getpid(), SIGTERM);
}
void InstallFirstForkHandler() { pthread_atfork(nullptr, nullptr, TerminateChild); }

}  // namespace

// The program's start-up code calls this function before the constructors of all libraries.
__attribute__((section(".preinit_array"),
               used)) void (*const install_first)() = InstallFirstForkHandler;

// The functions have external linkage, so that a profile has names for them.
extern "C" {

__attribute__((noinline)) void Leak(int blocks) {
  for (int i = 0; i < blocks; ++i) g_blocks[g_count++] = malloc(kBlockBytes);
}

__attribute__((noinline)) void Release(int blocks) {
  for (int i = 0; i < blocks; ++i) free(g_blocks[--g_count]);
}

__attribute__((noinline)) void AllocateAndFree(int blocks) {
  for (int i = 0; i < blocks; ++i) free(malloc(kBlockBytes));
}

__attribute__((noinline)) void LeakInChild(int blocks) { Leak(blocks); }

}  // extern "C"

namespace {

// The child prints its process id, and "awake" whenever a signal handler has returned. Signals
// arrive only while it waits, so every one is seen.
[[noreturn]] void AnswerSignals() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  printf("%d\n", static_cast<int>(getpid()));
  for (;;) {
    sigsuspend(&before);
    printf("awake\n");
  }
}

void ForkAndWait(int blocks) {
  const pid_t child = fork();
  if (child == 0) {
    LeakInChild(blocks);
    AnswerSignals();
  }
  int status = 0;
  waitpid(child, &status, 0);
}

int StatusOfChild() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// Forks repeatedly, probably also during the writing.
void AskAndFork(int times) {
  for (int i = 0; i < times; ++i) {
    raise(SIGUSR2);
    StatusOfChild();
  }
}

// Returns the signal that ended a child made without fork handlers.  After vfork the child's memory
// is the parent's.
int SignalOfHandlerlessChild(pid_t child) {
  if (child == 0) {
    kill(getpid(), SIGTERM);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WTERMSIG(status);
}

void TerminateAtFork() {
  g_terminates_children = true;
  printf("%d\n", WTERMSIG(StatusOfChild()));
  g_terminates_children = false;
  printf("%d\n", SignalOfHandlerlessChild(_Fork()));
  printf("%d\n", SignalOfHandlerlessChild(vfork()));
}

void Obey(const char* command, int count) {
  if (strcmp(command, "leak") == 0) Leak(count);
  if (strcmp(command, "release") == 0) Release(count);
  if (strcmp(command, "both") == 0) AllocateAndFree(count);
  if (strcmp(command, "fork") == 0) ForkAndWait(count);
  if (strcmp(command, "dumpfork") == 0) AskAndFork(count);
  if (strcmp(command, "terminate") == 0) TerminateAtFork();
}

}  // namespace

int main() {
  // The buffers of stdout and stdin would appear in the profile.
  setvbuf(stdout, nullptr, _IONBF, 0);
  setvbuf(stdin, nullptr, _IONBF, 0);
  char command[16];
  int count;
  while (scanf("%15s %d", command, &count) == 2) {
    Obey(command, count);
    printf("done\n");
  }
}
