// Profiles the process it is loaded into, from its environment, and writes mlmon.out
// when the process exits.  Part of liballomon.so; link //allocator:auto_profile to have
// the same in an executable.
//
// It never makes its host fail: what it cannot do it says in one line on standard error,
// and steps aside.
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "allocator/environment.h"
#include "tracker/profile/alloc_session.h"
#include "tracker/profile/profile_data.h"
#include "tracker/profile/profile_file.h"

namespace allomon {
namespace {

// Static data without destructor: it is used after the last destructor of the process.
struct AutoProfile {
  EnvironmentOptions options;
  uint64_t seed = 0;
  internal::SessionId session = 0;  // 0: not profiling
  bool forked = false;
};
AutoProfile* g_profile = nullptr;

// Standard error as it was when the process started.  A host may close it, and the next
// file that it opens takes the number: a message there would damage the host's data.
struct stat g_stderr = {};

bool StderrIsStillTheSame() {
  struct stat now = {};
  return g_stderr.st_ino != 0 && fstat(STDERR_FILENO, &now) == 0 && now.st_dev == g_stderr.st_dev &&
         now.st_ino == g_stderr.st_ino;
}

// While one exists, writing into a pipe without reader or beyond the limit of a file's
// size is an error for this thread, not the end of the host.
class NoSignalsFromWriting {
 public:
  NoSignalsFromWriting() {
    sigset_t pending;
    sigpending(&pending);
    sigemptyset(&raised_);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (!sigismember(&pending, signal)) sigaddset(&raised_, signal);
    }
    pthread_sigmask(SIG_BLOCK, &raised_, &outer_);
  }
  ~NoSignalsFromWriting() {
    const timespec now = {};
    while (sigtimedwait(&raised_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &outer_, nullptr);
  }

 private:
  sigset_t raised_;
  sigset_t outer_;
};

void Say(const std::string& message) {
  std::string line = "allomon: " + message;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = '?';  // a variable may hold one
  }
  line += '\n';
  const NoSignalsFromWriting quiet;
  if (!StderrIsStillTheSame()) return;
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nobody left to tell
}

// A child starts with no counts of its own.
void AfterForkInChild() {
  if (g_profile == nullptr) return;
  g_profile->forked = true;
  DefaultProfileData().Clear();
}

void StartProfile(AutoProfile* profile) {
  profile->seed = profile->options.seed.value_or(internal::RandomSeed());
  const internal::StartResult started = StartAllocSession(profile->options.rate, profile->seed);
  if (started.error != internal::ControlError::kNone) {
    return Say("cannot start: too many trackers; the program runs unprofiled");
  }
  profile->session = started.id;
  pthread_atfork(nullptr, nullptr, AfterForkInChild);
}

// mlprof asks a program (or the script beside a profile, which the shell runs) for its
// functions by this argument.  To profile that run would overwrite what mlprof reads.
bool AnswersMlprof(int argc, char** argv) {
  for (int i = 1; i < argc && i <= 2; ++i) {
    if (strcmp(argv[i], "@MLton") == 0) return true;
  }
  return false;
}

__attribute__((constructor)) void StartFromEnvironment(int argc, char** argv, char**) {
  // A set-uid program must not write files where its caller's environment says.
  if (getauxval(AT_SECURE) != 0 || AnswersMlprof(argc, argv)) return;
  const int saved_errno = errno;
  if (fstat(STDERR_FILENO, &g_stderr) != 0) g_stderr.st_ino = 0;
  AutoProfile* profile = new AutoProfile;
  std::string error;
  if (ReadEnvironment(environ, &profile->options, &error)) {
    g_profile = profile;
    StartProfile(profile);
  } else {
    Say(error + "; the program runs unprofiled");
    delete profile;
  }
  errno = saved_errno;
}

void WriteProfile(const AutoProfile& profile) {
  const NoSignalsFromWriting quiet;
  const std::string path = ExpandOut(profile.options.out, getpid());
  std::string error;
  if (!WriteProfileFile(path, DefaultProfileData(), &error)) return Say(error);
  if (!profile.options.summary) return;
  Say(ProfileSummary(DefaultProfileData(), profile.options.rate, profile.seed) + "; mlprof " +
      path + ".sources " + path);
}

// Runs after main's own exit handlers.
__attribute__((destructor)) void WriteAtExit() {
  if (g_profile == nullptr || g_profile->session == 0) return;
  internal::StopSession(g_profile->session);
  // A forked child would overwrite its parent's file, unless the name tells them apart.
  if (g_profile->forked && !NamesProcess(g_profile->options.out)) return;
  WriteProfile(*g_profile);
}

}  // namespace
}  // namespace allomon
