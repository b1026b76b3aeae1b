// Profiles the process it is loaded into, from its environment, and writes mlmon.out
// when the process exits.  Part of liballomon.so; link //allocator:auto_profile to have
// the same in an executable.
//
// An error never makes the host fail: the error is one line on standard error, and the host runs
// on, unprofiled.
#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "allocator/auto_control.h"
#include "allocator/auto_interpreters.h"
#include "allocator/auto_profile_ends.h"
#include "allocator/auto_profile_explain.h"
#include "allocator/auto_profile_say.h"
#include "allocator/auto_recording.h"
#include "allocator/environment.h"
#include "allocator/guard.h"
#include "allocator/host_stderr.h"
#include "allocator/interrupted_code.h"
#include "allocator/mmap_override.h"
#include "allocator/stand_aside.h"
#include "allocator/writing_reserve.h"
#include "tracker/base/all_signals_blocked.h"
#include "tracker/base/errno_keeper.h"
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
  pid_t process = getpid();
  // Guards the following fields and the writing: a signal may ask for a file while the process
  // ends.
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool on = false;
  uint64_t files = 0;
  WriteRule rule;
  std::string before_exec;  // the file that was written before the process executes a program

  // A forked child would overwrite its parent's file, unless the name tells them apart.
  bool MayWrite() const { return on && (!forked || NamesProcess(options.out)); }
};
AutoProfile* g_profile = nullptr;
bool g_started = false;

using internal::Say;

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

std::string NextPath(const AutoProfile& profile) {
  return ExpandOut(profile.options.out, getpid(), profile.files + 1);
}

// Of a profile that was just written; empty for one of time or calls.
std::string WhySoLittle(const AutoProfile& profile) {
  const internal::RecordingOptions recording = RecordingFrom(profile.options);
  if (recording.kind != ProfileKind::kAlloc) return "";
  SeenMemory seen;
  seen.bytes = static_cast<double>(profile.rule.last_total());
  seen.live = recording.live;
  seen.rate = recording.rate;
  seen.mapped = profile.options.mmap;
  return WhySoLittle(seen);
}

// Writes `path` unless the profile's rule is against it, which is said if that may matter to
// somebody.  Returns whether it was written.
enum class Refusal { kSaid, kSilent };
bool WriteFileLocked(AutoProfile& profile, const std::string& path, internal::UnitName unit,
                     Refusal refusal) {
  const internal::NoSignalsFromWriting quiet;
  std::string error;
  std::string summary;
  std::string against;
  WriteProfileFile(path, unit, &error, profile.options.summary ? &summary : nullptr, "mlmon",
                   &profile.rule, &against);
  if (!error.empty()) {
    Say(error);
  } else if (!against.empty()) {
    if (profile.options.summary && refusal == Refusal::kSaid) Say(against);
  } else if (profile.options.summary) {
    Say(summary + "; mlprof " + SourcesOf(profile, path) + " " + path);
    if (const std::string why = WhySoLittle(profile); !why.empty()) Say(why);
  }
  return error.empty() && against.empty();
}

// What is to be written, and whether it was.
struct Writing {
  AutoProfile& profile;
  internal::UnitName unit;
  void (*write)(Writing&);
  bool written = false;
};

void SayNoMemory() {
  static constexpr char kLine[] =
      "allomon: no memory is left to write the profile, which is lost; raise `ulimit -v`, or ask "
      "for it earlier, by ALLOMON_DUMP\n";
  internal::WriteToStderr(kLine, sizeof(kLine) - 1);
}

// Every writing goes this way: what it allocates is not sampled, and it is given up where there is
// no memory.  Called under the profile's mutex.
bool Write(AutoProfile& profile, internal::UnitName unit, void (*write)(Writing&)) {
  const internal::OwnWork own;
  Writing writing = {profile, unit, write};
  const auto run = [](void* argument) {
    Writing& asked = *static_cast<Writing*>(argument);
    asked.write(asked);
  };
  if (!internal::RunWriter(run, &writing)) SayNoMemory();
  return writing.written;
}

// One more file of the run so far, or its last one.
void WriteNext(Writing& writing) {
  AutoProfile& profile = writing.profile;
  writing.written = WriteFileLocked(profile, NextPath(profile), writing.unit, Refusal::kSaid);
  if (writing.written) ++profile.files;
}

// A signal's handler would be charged to our function, and a tick, too.
void StopAndWrite(Writing& writing) {
  const bool writes = writing.profile.MayWrite();
  writing.profile.on = false;
  {
    const internal::AllSignalsBlocked blocked;
    internal::StopRecording();
  }
  if (writes) WriteNext(writing);
}

void WriteBesideOutput(Writing& writing) {
  std::string& path = writing.profile.before_exec;
  path = NextPath(writing.profile) + ".exec";
  writing.written = WriteFileLocked(writing.profile, path, writing.unit, Refusal::kSilent);
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
void WriteLastIfAtLeast(MlmonInt least_total, internal::UnitName unit) {
  if (g_profile == nullptr) return;
  const ProfileLock lock(*g_profile);
  if (!g_profile->on) return;
  g_profile->rule.Demand(least_total);
  Write(*g_profile, unit, StopAndWrite);
}
void WriteLast(internal::UnitName unit) { WriteLastIfAtLeast(0, unit); }

// Writes the profile of the run so far.
void WriteAndGoOn(internal::UnitName unit) {
  const ProfileLock lock(*g_profile);
  if (g_profile->MayWrite()) Write(*g_profile, unit, WriteNext);
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
  internal::StopAttending();
}

// The counts of the child start afresh without help from here.
void AfterForkInChild() {
  if (g_profile == nullptr) return;
  const internal::OwnWork own;
  g_profile->forked = true;
  g_profile->process = getpid();
  g_profile->files = 0;
  // The thread that held the mutex does not exist in the child.
  pthread_mutex_init(&g_profile->mutex, nullptr);
  if (g_profile->MayWrite()) return internal::RestartSignalWriters();
  internal::ForgetSignalWriters();
}

// A program that is linked with :auto_profile is profiled when a variable asks for a profile.  Any
// other program is profiled when the library is preloaded.
bool IsWanted(const EnvironmentOptions& options) {
  if (options.profile.empty()) {
    return options.record.empty() && !internal::answers_for_itself.load();
  }
  return options.profile != "no" && !internal::IsIdle(options);
}

bool SeesMemory(const EnvironmentOptions& options) {
  if (IsWanted(options)) return RecordingFrom(options).kind == ProfileKind::kAlloc;
  return !options.record.empty() && !internal::IsIdle(options);
}

void SayDumpSignalTaken() {
  static constexpr char kLine[] =
      "allomon: ALLOMON_DUMP: the program itself handles or ignores this signal now, so no file is "
      "written when it arrives; choose another\n";
  internal::WriteToStderr(kLine, sizeof(kLine) - 1);
}

void WriteWhenKilledBy(int signal, const char* name) {
  if (internal::WriteOnSignal(signal, internal::AfterWriting::kDieBySignal, WriteLast)) return;
  Say(std::string(name) +
      " is handled or ignored already; killed by it, the program leaves no profile");
}

bool ProfilesAllocations(const AutoProfile& profile) {
  return profile.on && RecordingFrom(profile.options).kind == ProfileKind::kAlloc;
}

void CountMappingsIfPossible(const AutoProfile& profile) {
  if (internal::CountMappings == nullptr) {
    return Say("ALLOMON_MMAP: needs the preloaded library; mappings are not counted");
  }
  if (!ProfilesAllocations(profile)) {
    return Say("ALLOMON_MMAP: needs ALLOMON_PROFILE=alloc or live; mappings are not counted");
  }
  internal::CountMappings();
}

// quick_exit() calls no destructor.
void WriteAtQuickExit() { WriteLast(internal::CurrentUnit()); }

void StartProfile(AutoProfile* profile) {
  if (!IsWanted(profile->options)) return;
  const internal::OwnWork own;
  std::string error;
  if (internal::StartRecording(RecordingFrom(profile->options), &error) !=
      internal::RecordingError::kNone) {
    return Say("cannot start: " + error + "; the program runs unprofiled");
  }
  profile->on = true;
  profile->rule.NoteAtStart(NextPath(*profile));
  internal::MapWritingReserve();
  pthread_atfork(nullptr, nullptr, AfterForkInChild);
  at_quick_exit(WriteAtQuickExit);
  if (profile->options.mmap) CountMappingsIfPossible(*profile);
  if (IsOfGo()) {
    Say("this is a program of Go, which ends by a system call that no library sees: no profile "
        "will be written");
  }
  if (profile->options.sigterm) WriteWhenKilledBy(SIGTERM, "SIGTERM");
  if (profile->options.sigint) WriteWhenKilledBy(SIGINT, "SIGINT");
  internal::TellWhenTaken(SayDumpSignalTaken);
  if (profile->options.dump_signal != 0 &&
      !internal::WriteOnSignal(profile->options.dump_signal, internal::AfterWriting::kGoOn,
                               WriteAndGoOn)) {
    Say("ALLOMON_DUMP: the signal is handled or ignored already; choose another");
  }
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
    internal::ShowInterpretersIfWanted(profile->options, SeesMemory(profile->options));
    StartProfile(profile);
    internal::StartRecordingIfWanted(profile->options);
    internal::AttendIfWanted(profile->options);
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
  if (kind == nullptr || strcmp(kind, "no") == 0 || strcmp(kind, "idle") == 0) return;
  if (AnswersMlprof(argc, argv)) return;
  internal::UseHooksOfHost();
  if (internal::FindHookedFunctions().count != 0) {
    g_started = true;
    StartFromEnvironment(argc, argv);
  }
}

__attribute__((constructor)) void StartLate(int argc, char** argv, char**) {
  if (!g_started) StartFromEnvironment(argc, argv);
}

// The process that started the profile, or a child of fork that has a file of its own.  Not what
// vfork made, which has its parent's memory.
bool MayWriteHere() {
  return g_profile != nullptr && g_profile->MayWrite() && g_profile->process == getpid();
}

void SayInterrupted() {
  static constexpr char kLine[] =
      "allomon: the program ends by _exit in a signal handler, at a place where the profile cannot "
      "be written; it is lost\n";
  internal::WriteToStderr(kLine, sizeof(kLine) - 1);
}

// Less is what a shell, env or nice uses before it executes the program that is meant.
constexpr MlmonInt kLeastBeforeExec[] = {1 << 20, 10, 10'000};  // bytes, 1/100 s, calls

}  // namespace

namespace internal {

void WriteBeforeQuickEnd(const FrameState& caller) {
  StopAttending();
  if (!MayWriteHere()) return;
  const ErrnoKeeper keeper;
  if (!MayAllocateHere(caller)) {
    if (!g_profile->forked) SayInterrupted();
    return;
  }
  WriteLastIfAtLeast(1, CurrentUnit());
}

// A forked child executes a program sooner or later, mostly sooner, and has used little.
bool WriteBeforeExec(const char* path, const FrameState& caller) {
  if (!MayWriteHere() || g_profile->forked) return false;
  const ErrnoKeeper keeper;
  if (path != nullptr && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0) return false;
  if (!MayAllocateHere(caller)) return false;
  const ProfileLock lock(*g_profile);
  if (!g_profile->on) return false;  // another thread ends the program
  const ProfileKind kind = RecordingFrom(g_profile->options).kind;
  g_profile->rule.Demand(kLeastBeforeExec[static_cast<int>(kind)]);
  const bool written = Write(*g_profile, CurrentUnit(), WriteBesideOutput);
  g_profile->rule.Demand(0);
  return written;
}

void ForgetExec() {
  const ErrnoKeeper keeper;
  const OwnWork own;
  const ProfileLock lock(*g_profile);
  unlink(g_profile->before_exec.c_str());
  unlink((g_profile->before_exec + ".sources").c_str());
}

}  // namespace internal
}  // namespace allomon
