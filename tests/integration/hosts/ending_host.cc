// Ends, and receives signals, in the ways of real programs, for process_end_test.py.  It is not
// built for Allomon: the library is preloaded.  The first argument selects the action.
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <thread>

extern "C" {
// volatile, so that the compiler does not remove the blocks.
void* volatile g_block;
__attribute__((noinline)) void Use(size_t megabytes) {
  for (size_t i = 0; i < megabytes; ++i) g_block = malloc(1 << 20);
}
}

namespace {

int CountTasks() {
  DIR* const tasks = opendir("/proc/self/task");
  int count = 0;
  while (const dirent* entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

void PrintTasks() { printf("%d tasks\n", CountTasks()); }

// A second thread makes unshare fail with EINVAL.  A sandbox may refuse it with EPERM.
void PrintUnshare() {
  const bool refused = unshare(CLONE_NEWUSER) != 0 && errno == EINVAL;
  printf("unshare %s\n", refused ? "refused" : "allowed");
}

void ChangeUser() {
  if (geteuid() == 0 && setresuid(65534, 65534, 0) == 0 && setresuid(0, 0, 0) != 0) exit(9);
  if (setresuid(getuid(), geteuid(), getuid()) != 0) exit(9);
  printf("changed user\n");
}

// The writer's thread ends by itself.
void AwaitOneTask() {
  for (int i = 0; i < 10000 && CountTasks() > 1; ++i) usleep(1000);
}

void LoneThread() {
  PrintTasks();
  ChangeUser();
  raise(SIGUSR2);
  AwaitOneTask();
  PrintTasks();
  ChangeUser();
  PrintUnshare();
}

// A second thread sends signals while this one allocates, so most arrive inside malloc.
void SignalledInMalloc(int signals) {
  const pthread_t self = pthread_self();
  std::thread sender([=] {
    for (int i = 0; i < signals; ++i) {
      pthread_kill(self, SIGUSR2);
      usleep(1000);
    }
    pthread_kill(self, SIGUSR1);
  });
  sender.detach();
  static volatile bool done = false;
  signal(SIGUSR1, [](int) { done = true; });
  while (!done) free(malloc(100));
}

void ExitInHandler() {
  Use(1);
  signal(SIGALRM, [](int) { _exit(7); });
  ualarm(2000, 0);
  for (;;) free(malloc(100));
}

// A host that reports its crash itself.
void ExitAfterFault() {
  signal(SIGSEGV, [](int) { _exit(8); });
  *static_cast<volatile int*>(nullptr) = 1;
}

void OwnHandler() {
  signal(SIGTERM, [](int) { exit(4); });
  signal(SIGUSR2, [](int) { (void)!write(1, "own\n", 4); });
  raise(SIGUSR2);
  raise(SIGTERM);
}

void WaitForSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  raise(SIGTERM);
  int got = 0;
  sigwait(&signals, &got);
  exit(got == SIGTERM ? 5 : 9);
}

void PrintAction() {
  struct sigaction action = {};
  for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) {
    sigaction(signal, nullptr, &action);
    printf("%s\n", action.sa_handler == SIG_DFL ? "default" : "other");
  }
  // After the host sets the default action again, the action still writes the profile.
  ::signal(SIGINT, SIG_IGN);
  printf("%s\n", ::signal(SIGINT, SIG_DFL) == SIG_IGN ? "ignored" : "other");
  raise(SIGINT);
  _exit(9);
}

// A child of vfork runs in the parent's memory.
void Vfork() {
  pid_t child = vfork();
  if (child == 0) _exit(3);
  int status = 0;
  waitpid(child, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
  child = vfork();
  if (child == 0) {
    char* const no_environment[] = {nullptr};
    execle("/bin/sh", "sh", "-c", "exit 6", nullptr, no_environment);
    _exit(9);
  }
  waitpid(child, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
}

void Execute(char** arguments) {
  execv("/nonexistent", arguments);
  execvp("nonexistent-program", arguments);
  printf("still here\n");
  fflush(stdout);
  execvp(arguments[0], arguments);
  _exit(9);
}

// Asks for all memory that there is.
void TakeAll() {
  for (size_t bytes = size_t{1} << 24; bytes >= 16; bytes /= 2) {
    while (malloc(bytes) != nullptr) {
    }
  }
}

// Becomes a daemon by libc's daemon(), as another user if one is named; then uses memory and ends.
void BecomeDaemon(const char* user) {
  if (daemon(0, 0) != 0) _exit(9);
  if (user != nullptr && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(9);
  Use(8);
}

void ChangeFolder(const char* folder) {
  if (chdir(folder) != 0) _exit(9);
}

void ChangeRoot(const char* folder, bool silent) {
  if (chroot(folder) != 0 || chdir("/") != 0) _exit(9);
  if (silent) fclose(stderr);
}

void EndBy(const char* how) {
  if (strcmp(how, "_exit") == 0) _exit(3);
  if (strcmp(how, "_Exit") == 0) _Exit(3);
  if (strcmp(how, "quick_exit") == 0) quick_exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  const char* const what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "signalled") == 0) SignalledInMalloc(50);
  if (strcmp(what, "exit-in-handler") == 0) ExitInHandler();
  if (strcmp(what, "nothing") == 0) return 0;
  Use(5);
  EndBy(what);
  if (strcmp(what, "lone-thread") == 0) LoneThread();
  if (strcmp(what, "fault") == 0) ExitAfterFault();
  if (strcmp(what, "own-handler") == 0) OwnHandler();
  if (strcmp(what, "sigwait") == 0) WaitForSignal();
  if (strcmp(what, "actions") == 0) PrintAction();
  if (strcmp(what, "vfork") == 0) Vfork();
  if (strcmp(what, "exec") == 0) Execute(argv + 2);
  if (strcmp(what, "take-all") == 0) TakeAll();
  if (strcmp(what, "daemon") == 0) BecomeDaemon(argv[2]);
  if (strcmp(what, "chdir") == 0) ChangeFolder(argv[2]);
  if (strcmp(what, "chroot") == 0) ChangeRoot(argv[2], argc > 3);
}
