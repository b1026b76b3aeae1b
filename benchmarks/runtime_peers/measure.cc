// Runs a program and prints its user seconds, system seconds and peak resident KiB on standard
// error.
//
// The kernel counts the memory that a process held before exec as its own peak.  A script of 11 MB
// would hide a program of 10 MB.  This program holds 1 MB.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

int main(int, char** argv) {
  const pid_t child = fork();
  if (child == 0) {
    execv(argv[1], argv + 1);
    perror(argv[1]);
    _exit(127);
  }
  int status = 0;
  rusage usage = {};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return perror("measure"), 1;
  const auto seconds = [](timeval t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  fprintf(stderr, "%.6f %ld\n", seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
