// A program whose files are removed or replaced while it runs.  It executes its arguments, one
// after the other:
//
//   spin           functions also run until they have been interrupted by ticks
//   work           the program's functions run
//   library PATH   those of the library do
//   namespace PATH the same, in a namespace of its own, with a C library of its own
//   occupy PATH    the library is loaded there, and not called
//   unload         the library is closed
//   pause          says "ready" and waits for a line
//   chroot DIR     changes the root; noproc: unmounts /proc; drop: may no more than other users
#define WHERE Program
#include <dlfcn.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/integration/hosts/mapped_code_work.h"

namespace {

constexpr int kRefused = 77;

// Skips the test if a sandbox refuses the operation.
void Need(bool is_done, const char* what) {
  if (is_done) return;
  perror(what);
  _exit(kRefused);
}

volatile int ticks = 0;

}  // namespace

// Counts milliseconds.  Exported, so that it has a name in each situation: a tick of the profile
// may arrive in it, too.
extern "C" __attribute__((visibility("default"))) void OnTick(int, siginfo_t* info, void*) {
  ticks = ticks + 1 + info->si_overrun;
}

namespace {

// Starts a timer of the profile's clock and frequency, so that both timers expire at the same tick
// of the kernel.  The profile's handler runs first: its signal is the thread's own, and blocks
// SIGPROF (thread_timers.cc).
void CountTicks() {
  mapped_code::ticks = &ticks;
  struct sigaction action = {};
  action.sa_sigaction = OnTick;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  Need(sigaction(SIGPROF, &action, nullptr) == 0, "sigaction");
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGPROF;
  timer_t timer;
  const itimerspec each_milli = {{0, 1000000}, {0, 1000000}};
  Need(timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0, "timer_create");
  Need(timer_settime(timer, 0, &each_milli, nullptr) == 0, "timer_settime");
}

void UnmountProc() {
  Need(unshare(CLONE_NEWNS) == 0, "unshare");
  Need(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "mount");
  Need(umount2("/proc", MNT_DETACH) == 0, "umount2");
  while (umount2("/proc", MNT_DETACH) == 0) continue;  // those below it
  errno = EBUSY;
  Need(access("/proc/self", F_OK) != 0, "another /proc lies below");
}

void DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  Need(syscall(SYS_capset, &header, none) == 0, "capset");
}

void Pause() {
  char line[16];
  const char ready[] = "ready\n";
  if (write(STDOUT_FILENO, ready, strlen(ready)) < 0 || read(STDIN_FILENO, line, 16) < 0) _exit(3);
}

}  // namespace

int main(int, char** argv) {
  void* library = nullptr;
  while (*++argv != nullptr) {
    if (strcmp(*argv, "spin") == 0) CountTicks();
    if (strcmp(*argv, "work") == 0) mapped_code::WorkOfAll();
    if (strcmp(*argv, "pause") == 0) Pause();
    if (strcmp(*argv, "noproc") == 0) UnmountProc();
    if (strcmp(*argv, "chroot") == 0) Need(chroot(*++argv) == 0 && chdir("/") == 0, "chroot");
    if (strcmp(*argv, "drop") == 0) DropCapabilities();
    if (strcmp(*argv, "unload") == 0) dlclose(library);
    const bool is_apart = strcmp(*argv, "namespace") == 0;
    const bool is_idle = strcmp(*argv, "occupy") == 0;
    if (is_apart || is_idle || strcmp(*argv, "library") == 0) {
      ++argv;
      library =
          is_apart || is_idle ? dlmopen(LM_ID_NEWLM, *argv, RTLD_NOW) : dlopen(*argv, RTLD_NOW);
      if (library == nullptr) return fputs(dlerror(), stderr), 2;
      if (is_idle) continue;
      reinterpret_cast<void (*)(const volatile int*)>(dlsym(library, "DoLibraryWork"))(
          mapped_code::ticks);
    }
  }
  return 0;
}
