// Profiles the process it is loaded into, from its environment, and writes mlmon.out
// when the process exits.  Part of liballomon.so; link //allocator:auto_profile to have
// the same in an executable.
//
// An error never makes the host fail: the error is one line on standard error, and the host runs
// on, unprofiled.
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "allocator/environment.h"
#include "allocator/guard.h"
#include "allocator/host_stderr.h"
#include "allocator/stand_aside.h"
#include "tracker/profile/control/profile_control.h"
#include "tracker/profile/control/profile_file.h"
#include "tracker/profile/control/write_on_signal.h"
#include "tracker/profile/hooks/entry_hooks.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"

namespace allomon {

// The guard is part of //allocator, which a program that profiles only its time need not link.
__attribute__((weak)) bool StartGuard(const GuardOptions& options, const char** error);
__attribute__((weak)) GuardStatistics ReadGuardStatistics();

namespace {

// Static data without destructor: the profile is written behind the last destructor of the process.
struct AutoProfile {
  EnvironmentOptions options;
  bool forked = false;
  // Guards the following fields and the writing: a signal may ask for a file while the process
  // ends.
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool on = false;
  uint64_t files = 0;

  // A forked child would overwrite its parent's file, unless the name tells them apart.
  bool MayWrite() const { return on && (!forked || NamesProcess(options.out)); }
};
AutoProfile* g_profile = nullptr;
bool g_started = false;

void Say(const std::string& message) {
  std::string line = "allomon: " + message;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = '?';  // the value of a variable may hold a line end
  }
  line += '\n';
  internal::WriteToStderr(line.data(), line.size());
}

internal::RecordingOptions RecordingFrom(const EnvironmentOptions& options) {
  internal::RecordingOptions recording;
  internal::ParseProfile(options.profile, &recording);
  recording.rate = options.rate;
  recording.seed = options.seed;
  recording.hz = options.hz;
  recording.exclude = options.exclude;
  return recording;
}

// The file that mlprof asks for the functions: the executable or the script.
std::string SourcesOf(const AutoProfile& profile, const std::string& path) {
  const bool live = RecordingFrom(profile.options).live;
  if (live || !internal::answers_for_itself.load() || !internal::HasFunctions())
    return path + ".sources";
  char program[4096];
  const ssize_t length = readlink("/proc/thread-self/exe", program, sizeof(program));
  return length > 0 ? std::string(program, static_cast<size_t>(length)) : "PROGRAM";
}

void WriteProfileLocked(AutoProfile& profile, internal::UnitName unit) {
  const internal::NoSignalsFromWriting quiet;
  const std::string path = ExpandOut(profile.options.out, getpid(), ++profile.files);
  std::string error;
  std::string summary;
  WriteProfileFile(path, unit, &error, profile.options.summary ? &summary : nullptr);
  if (!error.empty()) return Say(error);
  if (profile.options.summary) {
    Say(summary + "; mlprof " + SourcesOf(profile, path) + " " + path);
  }
}

class ProfileLock {
 public:
  explicit ProfileLock(AutoProfile& profile) : profile_(profile) {
    pthread_mutex_lock(&profile_.mutex);
  }
  ~ProfileLock() { pthread_mutex_unlock(&profile_.mutex); }
  ProfileLock(const ProfileLock&) = delete;
  ProfileLock& operator=(const ProfileLock&) = delete;

 private:
  AutoProfile& profile_;
};

// Ends the profile and writes the unit that was current where the program ended, as MLton
// does at exit.
void WriteLast(internal::UnitName unit) {
  if (g_profile == nullptr) return;
  const ProfileLock lock(*g_profile);
  if (!g_profile->on) return;
  const bool writes = g_profile->MayWrite();
  g_profile->on = false;
  internal::StopRecording();
  if (writes) WriteProfileLocked(*g_profile, unit);
}

// Writes the profile of the run so far.
void WriteAndGoOn(internal::UnitName unit) {
  const ProfileLock lock(*g_profile);
  if (g_profile->MayWrite()) WriteProfileLocked(*g_profile, unit);
}

void SayGuardSummary(const AutoProfile& profile) {
  if (!profile.options.summary || profile.options.guard_one_in == 0 || profile.forked) return;
  if (ReadGuardStatistics == nullptr) return;
  const GuardStatistics guard = ReadGuardStatistics();
  Say("guard: " + std::to_string(guard.guarded_blocks) + " blocks guarded, " +
      std::to_string(guard.too_large) + " larger than a page and " + std::to_string(guard.no_room) +
      " without room not, " + std::to_string(guard.errors) + " errors");
}

// Runs after main's own exit handlers.
__attribute__((destructor)) void WriteAtExit() {
  WriteLast(internal::CurrentUnit());
  if (g_profile != nullptr) SayGuardSummary(*g_profile);
}

// The counts of the child start afresh without help from here.
void AfterForkInChild() {
  if (g_profile == nullptr) return;
  g_profile->forked = true;
  g_profile->files = 0;
  // The thread that held the mutex does not exist in the child.
  pthread_mutex_init(&g_profile->mutex, nullptr);
  if (g_profile->MayWrite()) return internal::RestartSignalWriters();
  internal::ForgetSignalWriters();
}

// A program that is linked with :auto_profile is profiled when a variable asks for a profile.  Any
// other program is profiled when the library is preloaded.
bool IsWanted(const EnvironmentOptions& options) {
  if (options.profile.empty()) return !internal::answers_for_itself.load();
  return options.profile != "no";
}

void StartProfile(AutoProfile* profile) {
  if (!IsWanted(profile->options)) return;
  std::string error;
  if (internal::StartRecording(RecordingFrom(profile->options), &error) !=
      internal::RecordingError::kNone) {
    return Say("cannot start: " + error + "; the program runs unprofiled");
  }
  profile->on = true;
  pthread_atfork(nullptr, nullptr, AfterForkInChild);
  if (profile->options.sigterm &&
      !internal::WriteOnSignal(SIGTERM, internal::AfterWriting::kDieBySignal, WriteLast)) {
    Say("SIGTERM is handled or ignored already; killed by it, the program leaves no profile");
  }
  if (profile->options.dump_signal != 0 &&
      !internal::WriteOnSignal(profile->options.dump_signal, internal::AfterWriting::kGoOn,
                               WriteAndGoOn)) {
    Say("ALLOMON_DUMP: the signal is handled or ignored already; choose another");
  }
}

bool ProfilesAllocations(const AutoProfile& profile) {
  return profile.on && RecordingFrom(profile.options).kind == ProfileKind::kAlloc;
}

// The guard takes the samples of a profile of allocations; without such a profile it samples by
// itself.
void StartGuardIfWanted(const AutoProfile& profile) {
  if (profile.options.guard_one_in == 0) return;
  if (StartGuard == nullptr) return Say("ALLOMON_GUARD: needs //allocator:malloc; unguarded");
  GuardOptions guard;
  guard.one_in = profile.options.guard_one_in;
  guard.goes_on = profile.options.guard_goes_on;
  guard.seed = profile.options.seed;
  if (!ProfilesAllocations(profile)) guard.rate = profile.options.rate;
  const char* error = nullptr;
  if (!StartGuard(guard, &error)) Say(std::string(error) + "; the program runs unguarded");
}

// mlprof asks a program (or the script beside a profile, which the shell runs) for its functions by
// this argument.  A profile of that run would overwrite the file that mlprof reads.
bool AnswersMlprof(int argc, char** argv) {
  for (int i = 1; i < argc && i <= 2; ++i) {
    if (strcmp(argv[i], "@MLton") == 0) return true;
  }
  return false;
}

bool AsksForGuard() { return getenv("ALLOMON_GUARD") != nullptr; }

void StartFromEnvironment(int argc, char** argv) {
  // A set-uid program must not write files where its caller's environment says.
  if (getauxval(AT_SECURE) != 0 || AnswersMlprof(argc, argv)) return;
  const int saved_errno = errno;
  internal::RememberStderr();
  if (StandsAsideAndSaysSo != nullptr && StandsAsideAndSaysSo()) return;
  AutoProfile* profile = new AutoProfile;
  std::string error;
  if (ReadEnvironment(environ, &profile->options, &error)) {
    g_profile = profile;
    StartProfile(profile);
    StartGuardIfWanted(*profile);
  } else {
    Say(error + "; the program runs unprofiled" + (AsksForGuard() ? " and unguarded" : ""));
    delete profile;
  }
  errno = saved_errno;
}

// Functions with hooks are known before the program's own constructors run: the profile starts here
// and contains the constructors.  The functions of ALLOMON_FUNCTION() are registered by such
// constructors, so the profile of a program with only these starts in StartLate().
__attribute__((constructor(103))) void StartEarly(int argc, char** argv, char**) {
  const char* const kind = getenv("ALLOMON_PROFILE");
  if (kind == nullptr || strcmp(kind, "no") == 0 || AnswersMlprof(argc, argv)) return;
  internal::UseHooksOfHost();
  if (internal::FindHookedFunctions().count != 0) {
    g_started = true;
    StartFromEnvironment(argc, argv);
  }
}

__attribute__((constructor)) void StartLate(int argc, char** argv, char**) {
  if (!g_started) StartFromEnvironment(argc, argv);
}

}  // namespace
}  // namespace allomon
