// A host that gives itself up to a filter of system calls which refuses rt_sigreturn, and that
// computes before and after in whole and in floating-point registers: for seccomp_test.py.
//
// The first argument is how it installs the filter: "prctl", "seccomp", or "none".  The second is
// "cancelled", where the first thread with a tick is about to be cancelled, or "data", where file
// descriptor 2 is a file "data" by then.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

namespace {

struct Sums {
  uint64_t whole;
  double parts[4];
  bool operator==(const Sums& other) const {
    return whole == other.whole && memcmp(parts, other.parts, sizeof(parts)) == 0;
  }
};

double SecondsOfThisThread() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

__attribute__((noinline)) Sums Compute() {
  Sums sums = {1, {0, 1, 2, 3}};
  for (int i = 1; i < 4'000'000; ++i) {
    sums.whole = sums.whole * 6364136223846793005u + 1442695040888963407u;
    for (double& part : sums.parts) part = part * 0.999 + 1.0 / (i + part);
  }
  return sums;
}

// Long enough for ticks.
bool ComputeSame(const Sums& expected) {
  const double end = SecondsOfThisThread() + 0.4;
  do {
    errno = 77;
    if (!(Compute() == expected) || errno != 77) return false;
  } while (SecondsOfThisThread() < end);
  return true;
}

bool Refuse(const char* how) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
  if (strcmp(how, "none") == 0) return true;
  if (syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (strcmp(how, "prctl") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

void* BeCancelledLater(void* expected) {
  pthread_cancel(pthread_self());
  const bool is_same = ComputeSame(*static_cast<const Sums*>(expected));
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  return is_same ? expected : nullptr;
}

bool IsCancelledNowhere(Sums* expected) {
  pthread_t thread;
  void* result = nullptr;
  return pthread_create(&thread, nullptr, BeCancelledLater, expected) == 0 &&
         pthread_join(thread, &result) == 0 && result == expected;
}

}  // namespace

int main(int argc, char** argv) {
  Sums expected = Compute();
  const char* const situation = argc > 2 ? argv[2] : "";
  if (strcmp(situation, "cancelled") == 0) {
    if (!Refuse(argv[1]) || !IsCancelledNowhere(&expected)) return 6;
    puts("fine");
    return 0;
  }
  if (strcmp(situation, "data") == 0) {
    close(STDERR_FILENO);
    if (open("data", O_CREAT | O_WRONLY, 0666) != STDERR_FILENO) return 7;
  }
  bool is_same = false;
  std::thread thread([&] { is_same = ComputeSame(expected); });
  if (!Refuse(argv[1])) return 2;
  if (!ComputeSame(expected)) return 3;
  thread.join();
  if (!is_same) return 4;
  std::thread([&] { is_same = ComputeSame(expected); }).join();
  if (!is_same) return 5;
  puts("fine");
}
