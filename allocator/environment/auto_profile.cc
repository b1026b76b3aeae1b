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
#include <vector>

#include "allocator/environment/auto_interpreters.h"
#include "allocator/environment/auto_profile_ends.h"
#include "allocator/environment/auto_profile_file.h"
#include "allocator/environment/auto_profile_say.h"
#include "allocator/environment/auto_recording.h"
#include "allocator/environment/environment.h"
#include "allocator/environment/exit_search.h"
#include "allocator/guard.h"
#include "allocator/host/host_stderr.h"
#include "allocator/host/stand_aside.h"
#include "allocator/host/writing_reserve.h"
#include "allocator/in_place.h"
#include "allocator/overrides/mmap_override.h"
#include "tracker/base/check.h"
#include "tracker/base/default_float.h"
#include "tracker/profile/control/profile_control.h"
#include "tracker/profile/control/write_on_signal.h"
#include "tracker/profile/hooks/entry_hooks.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/sources/thread_timers.h"

namespace allomon {

// The guard is part of //allocator, which a program that profiles only its time need not link.
__attribute__((weak)) bool StartGuard(const GuardOptions& options, const char** error);
__attribute__((weak)) GuardStatistics ReadGuardStatistics();
__attribute__((weak)) bool KeepSamplesInPlace(uint32_t one_in, std::optional<uint64_t> seed);

}  // namespace allomon

namespace allomon::internal {
namespace {

bool g_started = false;

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
  const OwnWork own;  // a tick while it waits for another writer is no function's
  WriteLast(CurrentUnit());
  if (auto_profile != nullptr) SayGuardSummary(*auto_profile);
  StopAttending();
}

// The child's counts start afresh without our help.
void AfterForkInChild() {
  if (auto_profile == nullptr) return;
  const OwnWork own;
  auto_profile->forked = auto_profile->forked || !IsForkedDaemon();
  auto_profile->process = getpid();
  auto_profile->files = 0;
  // The thread that held the mutex does not exist in the child.
  pthread_mutex_init(&auto_profile->mutex, nullptr);
  if (auto_profile->MayWrite()) return RestartSignalWriters();
  ForgetSignalWriters();
}

// A program that is linked with :auto_profile is profiled if a variable asks for a profile.  Any
// other program is profiled if the library is preloaded.
bool IsWanted(const EnvironmentOptions& options) {
  if (options.profile.empty()) {
    return options.record.empty() && !answers_for_itself.load();
  }
  return options.profile != "no" && !IsIdle(options);
}

bool SeesMemory(const EnvironmentOptions& options) {
  if (IsWanted(options)) return RecordingFrom(options).kind == ProfileKind::kAlloc;
  return !options.record.empty() && !IsIdle(options);
}

// At this rate one object of 56 bytes in three is sampled.  From this rate on all objects come from
// malloc.
constexpr double kRateOfAllObjects = 0.05;

ObjectSampling ObjectSamplingFor(const EnvironmentOptions& options) {
  if (IsIdle(options)) return ObjectSampling::kInArenas;
  if (!SeesMemory(options)) return ObjectSampling::kNever;
  return options.rate < kRateOfAllObjects ? ObjectSampling::kInArenas : ObjectSampling::kAll;
}

void SayDumpSignalTaken() {
  static constexpr char kLine[] =
      "allomon: ALLOMON_DUMP: the program itself handles or ignores this signal now, so no file is "
      "written when it arrives; choose another\n";
  WriteToStderr(kLine, sizeof(kLine) - 1);
}

void WriteWhenKilledBy(int signal, const char* name) {
  if (WriteOnSignal(signal, AfterWriting::kDieBySignal, WriteLast)) return;
  Say(std::string(name) +
      " is handled or ignored already; killed by it, the program leaves no profile");
}

bool ProfilesAllocations(const AutoProfile& profile) {
  return profile.on && RecordingFrom(profile.options).kind == ProfileKind::kAlloc;
}

void CountMappingsIfPossible(const AutoProfile& profile) {
  if (CountMappings == nullptr) {
    return Say("ALLOMON_MMAP: needs the preloaded library; mappings are not counted");
  }
  // A recording would not learn of mappings that are unmapped in parts.
  if (!profile.options.record.empty()) return;
  if (!ProfilesAllocations(profile)) {
    return Say("ALLOMON_MMAP: needs ALLOMON_PROFILE=alloc or live; mappings are not counted");
  }
  CountMappings();
}

void SayThatRecordingsHaveNoMappings(const EnvironmentOptions& options) {
  if (!options.mmap || (options.record.empty() && !IsIdle(options))) return;
  Say("ALLOMON_MMAP: recordings have no mappings, which are not counted; ALLOMON_PROFILE=alloc or "
      "live without ALLOMON_RECORD counts them");
}

// The signal ends a program that does not handle it, where its user expects a file.
void SayThatRecordingsAreNotDumped(const EnvironmentOptions& options) {
  if (options.dump_signal == 0 || IsWanted(options)) return;
  if (options.record.empty() && !IsIdle(options)) return;
  Say("ALLOMON_DUMP: recordings wait for no signal, which may end the program; allomon save PID "
      "writes what was recorded so far");
}

// quick_exit() calls no destructor.
void WriteAtQuickExit() { WriteLast(CurrentUnit()); }

void StartProfile(AutoProfile* profile) {
  if (!IsWanted(profile->options)) return;
  const OwnWork own;
  tick_line_writer.store(WriteToStderr, std::memory_order_release);
  std::string error;
  if (StartRecording(RecordingFrom(profile->options), &error) != RecordingError::kNone) {
    return Say("cannot start: " + error + "; the program runs unprofiled");
  }
  profile->on = true;
  profile->place.Note(profile->options.out);
  profile->rule.NoteAtStart(NextPath(*profile));
  MapWritingReserve();
  pthread_atfork(nullptr, nullptr, AfterForkInChild);
  at_quick_exit(WriteAtQuickExit);
  if (profile->options.mmap) CountMappingsIfPossible(*profile);
  if (IsOfGo()) {
    Say("this is a program of Go, which ends by a system call that no library sees: no profile "
        "will be written");
  }
  if (profile->options.sigterm) WriteWhenKilledBy(SIGTERM, "SIGTERM");
  if (profile->options.sigint) WriteWhenKilledBy(SIGINT, "SIGINT");
  TellWhenTaken(SayDumpSignalTaken);
  if (profile->options.dump_signal != 0 &&
      !WriteOnSignal(profile->options.dump_signal, AfterWriting::kGoOn, WriteAndGoOn)) {
    Say("ALLOMON_DUMP: the signal is handled or ignored already; choose another");
  }
}

// The guard uses the samples of a profile of allocations; without such a profile it samples by
// itself.
void StartGuardIfWanted(const AutoProfile& profile) {
  if (profile.options.guard_one_in == 0) return;
  if (StartGuard == nullptr) return Say("ALLOMON_GUARD: needs //allocator:malloc; unguarded");
  if (profile.options.rate == 0 && !IsIdle(profile.options)) {
    Say("ALLOMON_GUARD: at ALLOMON_RATE=0 no block is sampled; the program runs unguarded");
  }
  GuardOptions guard;
  guard.one_in = profile.options.guard_one_in;
  guard.goes_on = profile.options.guard_goes_on;
  guard.seed = profile.options.seed;
  if (!ProfilesAllocations(profile)) guard.rate = profile.options.rate;
  const char* error = nullptr;
  if (!StartGuard(guard, &error)) Say(std::string(error) + "; the program runs unguarded");
}

void KeepInPlaceIfWanted(const EnvironmentOptions& options) {
  if (options.in_place_one_in == 0) return;
  const bool keeps =
      KeepSamplesInPlace != nullptr && KeepSamplesInPlace(options.in_place_one_in, options.seed);
  if (!keeps) {
    Say("ALLOMON_IN_PLACE: needs malloc over mimalloc 2.0.9 or 3.0.1; no sample stays in place");
  }
}

// mlprof runs a program (or the script that the shell runs for it) with this argument to ask for
// its functions.  A profile of that run would overwrite the file that mlprof reads.
bool AnswersMlprof(int argc, char** argv) {
  for (int i = 1; i < argc && i <= 2; ++i) {
    if (strcmp(argv[i], "@MLton") == 0) return true;
  }
  return false;
}

// Says nothing to a host that only uses the allocator: it has asked for no samples.
void SayWhatIsReplacedIfAsked(const EnvironmentOptions& options) {
  const bool samples =
      options.profile != "no" || !options.record.empty() || options.guard_one_in != 0;
  if (SayWhatIsReplaced != nullptr && samples) SayWhatIsReplaced(options.backend.c_str());
}

bool AsksForGuard() { return getenv("ALLOMON_GUARD") != nullptr; }

void StartFromEnvironment(int argc, char** argv) {
  // A set-uid program must not write files to a place that its caller's environment names.
  if (getauxval(AT_SECURE) != 0 || AnswersMlprof(argc, argv)) return;
  const int saved_errno = errno;
  const DefaultFloat our_float;
  RememberStderr();
  if (StandsAsideAndSaysSo != nullptr && StandsAsideAndSaysSo()) return;
  AutoProfile* profile = new AutoProfile;
  std::string error;
  if (ReadEnvironment(environ, &profile->options, Say, &error)) {
    ALLOMON_DCHECK_EQ("inv.environment.once", auto_profile, nullptr);
    auto_profile = profile;
    SayWhatIsReplacedIfAsked(profile->options);
    ShowInterpretersIfWanted(profile->options, ObjectSamplingFor(profile->options));
    KeepInPlaceIfWanted(profile->options);
    StartProfile(profile);
    SayThatRecordingsHaveNoMappings(profile->options);
    SayThatRecordingsAreNotDumped(profile->options);
    // Before the recording: beside a handler of SIGBUS in front of its own, a recording looks at
    // its file at each event.
    StartGuardIfWanted(*profile);
    StartRecordingIfWanted(profile->options);
    WaitAtExitIfWanted(profile->options);
    AttendIfWanted(profile->options);
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
  UseHooksOfHost();
  if (FindHookedFunctions().count != 0) {
    g_started = true;
    StartFromEnvironment(argc, argv);
  }
}

__attribute__((constructor)) void StartLate(int argc, char** argv, char**) {
  if (!g_started) StartFromEnvironment(argc, argv);
}

}  // namespace
}  // namespace allomon::internal
