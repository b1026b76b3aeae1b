// Rows about processes: fork and exec.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/stress/crossing/rows.h"

extern char** environ;

namespace crossing {
namespace {

constexpr int kChildren = 6;

// A child works, has its own threads and children, and ends in each of the two ways.
[[noreturn]] void LiveInChild(int number) {
  alarm(30);
  WorkOnThread(static_cast<unsigned>(number));
  std::thread thread([] {
    const OnThread here;
    WorkOnThread(7);
  });
  Join(thread);
  if (number == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      WorkOnThread(3);
      exit(42);
    }
    if (StatusOf(grandchild) != 42) _exit(99);
  }
  if (number % 2 == 0) exit(number);
  _exit(number);
}

// Returns how many of the children ended as they should.
int ForkChildren() {
  int good = 0;
  for (int i = 0; i < kChildren; ++i) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) LiveInChild(i);
    const int status = StatusOf(child);
    if (status == i) {
      ++good;
    } else {
      printf("child %d ended with %d\n", i, status);
    }
    WorkOnThread(static_cast<unsigned>(i), 3);
  }
  return good;
}

void PrepareToFork() { WorkByMalloc(1); }
void GoOnInParent() { WorkByMalloc(2); }
void GoOnInChild() { WorkByMalloc(3); }

volatile sig_atomic_t g_child_of_handler = 0;

// POSIX of 2017 allows fork in handlers.
void ForkInHandler(int) {
  const pid_t child = fork();
  if (child == 0) _exit(Compute(1) == 0 ? 1 : 0);
  g_child_of_handler = child;
}

std::string ArgumentsLeft(int left) { return std::to_string(left); }

void ExecAgain(char* program, int left) {
  std::string count = ArgumentsLeft(left);
  char row[] = "exec";
  char* arguments[] = {program, row, program, count.data(), nullptr};
  fflush(stdout);
  execv(program, arguments);
  printf("exec: %s\n", strerror(errno));
}

// Prints the statuses of two children that execute this program: by vfork and by posix_spawn.
void SpawnChildren(char* program) {
  char row[] = "exec";
  char count[] = "0";
  char* arguments[] = {program, row, program, count, nullptr};
  fflush(stdout);
  const pid_t child = vfork();
  if (child == 0) {
    execv(program, arguments);
    _exit(98);
  }
  printf("vfork: %d\n", StatusOf(child));
  fflush(stdout);
  pid_t spawned = 0;
  if (posix_spawn(&spawned, program, nullptr, nullptr, arguments, environ) != 0) spawned = -1;
  printf("spawn: %d\n", StatusOf(spawned));
}

}  // namespace

int Fork(Arguments) {
  pthread_atfork(PrepareToFork, GoOnInParent, GoOnInChild);
  int good = 0;
  {
    const Busy others(2);
    good = ForkChildren();
    std::thread forks([&good] {
      const OnThread here;
      good += ForkChildren();
    });
    Join(forks);
  }
  signal(SIGUSR1, ForkInHandler);
  raise(SIGUSR1);
  printf("%d children, in a handler: %d\n", good, StatusOf(g_child_of_handler));
  return good == 2 * kChildren ? 0 : 1;
}

// In a chain of programs, each of which executes the next one, the last returns.
int Exec(Arguments arguments) {
  char* const program = arguments[0];
  const int left = atoi(arguments[1]);
  WorkOnThread(static_cast<unsigned>(left));
  if (left == 0) {
    printf("arrived\n");
    return 5;
  }
  char nowhere[] = "/nowhere";
  char* none[] = {nowhere, nullptr};
  execv(nowhere, none);
  printf("no such program: %d\n", errno == ENOENT);
  if (left == 3) SpawnChildren(program);
  const Busy others(2);
  WorkOnThread(3, 50);
  if (left % 2 == 1) {
    std::thread thread([=] {
      const OnThread here;
      WorkOnThread(2);
      ExecAgain(program, left - 1);
    });
    Join(thread);
  } else {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    ExecAgain(program, left - 1);
  }
  return 1;
}

}  // namespace crossing
