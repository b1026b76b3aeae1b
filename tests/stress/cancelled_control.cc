// `cancelled_control WHAT`: two dozen cancelled threads start WHAT at once, then save it, then stop
// it.  Prints the result of each step as crossing/cancelled.h does.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "allocator/guard.h"
#include "tests/stress/crossing/cancelled.h"
#include "tests/stress/crossing/column.h"
#include "tracker/formats/include/mon.h"
#include "tracker/profile/control/profile_control.h"
#include "tracker/profile/control/profile_file.h"
#include "tracker/recording.h"
#include "tracker/tracker.h"

extern "C" char etext;

namespace allomon {
namespace {

using crossing::CancelledWork;
using crossing::kCancelledThreads;
using crossing::RunCancelledAndSay;

// Allocations beside the sessions, for profiles and trackers to find.
void Work(int thread) {
  for (unsigned i = 0; i < 50; ++i) crossing::Allocate(static_cast<unsigned>(thread) + i);
}

// ---- Trackers: eight sample at a time.

struct Following {
  std::optional<char> alloc_major(const Allocation&) { return 0; }
};
TrackerId g_trackers[kCancelledThreads];

bool StartTracker(int thread) {
  StartOptions options;
  options.concurrent = true;
  const auto id = Tracker::start(1, Following{}, options);
  if (id.ok()) g_trackers[thread] = *id;
  Work(thread);
  return id.ok();
}
bool SnapshotTrackers(int thread) {
  bool succeeded = true;
  for (const TrackerId id : g_trackers) {
    if (id.value != 0) succeeded &= Tracker::statistics(id).ok() && !Tracker::snapshot(id).empty();
  }
  Work(thread);
  return succeeded;
}
bool StopTracker(int thread) { return Tracker::stop(g_trackers[thread]).ok(); }

// ---- Recordings: two go on at a time.

RecordingId g_recordings[kCancelledThreads];

bool StartRecording(int thread) {
  RecordingOptions options;
  options.path = "%p." + std::to_string(thread) + ".rec";
  options.rate = 1;
  const auto id = Recording::Start(options);
  if (id.ok()) g_recordings[thread] = *id;
  Work(thread);
  return id.ok();
}
bool ReadRecordings(int thread) {
  bool succeeded = true;
  for (const RecordingId id : g_recordings) {
    if (id.value != 0) succeeded &= Recording::ReadStatistics(id).ok();
  }
  Work(thread);
  return succeeded;
}
bool StopRecording(int thread) { return Recording::Stop(g_recordings[thread]).ok(); }

// ---- Profiles: one goes on at a time.

internal::RecordingOptions g_profile;

bool StartProfile(int thread) {
  std::string error;
  const bool started =
      internal::StartRecording(g_profile, &error) == internal::RecordingError::kNone;
  Work(thread);
  return started;
}
bool WriteProfile(int thread) {
  std::string error;
  const std::string path = "profile." + std::to_string(thread) + ".out";
  return WriteProfileFile(path, {}, &error) == internal::UnitError::kNone && error.empty() &&
         access(path.c_str(), R_OK) == 0;
}
bool StopProfile(int) { return internal::StopRecording() == internal::RecordingError::kNone; }

// ---- A guard: one, and it stays.

bool StartTheGuard(int thread) {
  GuardOptions options;
  options.one_in = 10;
  options.rate = 1;
  const char* error = nullptr;
  const bool started = StartGuard(options, &error);
  Work(thread);
  return started;
}

// ---- monitor(), whose stop saves.  Failing calls print an error on standard error.

WORD g_buffer[1 << 20];

bool StartMonitor(int) {
  monitor(reinterpret_cast<int (*)()>(4), reinterpret_cast<int (*)()>(&etext), g_buffer, 1 << 20,
          100);
  return true;
}
bool StopMonitor(int) {
  monitor(nullptr, nullptr, nullptr, 0, 0);
  return access(MON_OUT, R_OK) == 0;
}

struct Control {
  const char* name;
  CancelledWork work[3];
};

constexpr Control kControls[] = {
    {"tracker",
     {{"start", nullptr, StartTracker},
      {"save", nullptr, SnapshotTrackers},
      {"stop", nullptr, StopTracker}}},
    {"recording",
     {{"start", nullptr, StartRecording},
      {"save", nullptr, ReadRecordings},
      {"stop", nullptr, StopRecording}}},
    {"guard", {{"start", nullptr, StartTheGuard}, {}, {}}},
};

constexpr Control kMonitor = {
    "", {{"start", nullptr, StartMonitor}, {"stop", nullptr, StopMonitor}, {}}};

constexpr Control kProfile = {"",
                              {{"start", nullptr, StartProfile},
                               {"save", nullptr, WriteProfile},
                               {"stop", nullptr, StopProfile}}};

void Run(const Control& control) {
  for (const CancelledWork& work : control.work) {
    if (work.name != nullptr) RunCancelledAndSay(work);
  }
}

// Entry hooks are installed while the program has one thread.
int RunMonitor() {
  StartMonitor(0);
  StopMonitor(0);
  unlink(MON_OUT);
  Run(kMonitor);
  return 0;
}

int RunProfile(const char* kind) {
  if (!internal::ParseProfile(kind, &g_profile)) return 101;
  std::string error;
  if (internal::StartRecording(g_profile, &error) != internal::RecordingError::kNone) {
    printf("%s\n", error.c_str());
    return 102;
  }
  internal::StopRecording();
  Run(kProfile);
  return 0;
}

}  // namespace
}  // namespace allomon

int main(int, char** argv) {
  alarm(40);  // a host that hangs is a failure
  for (const allomon::Control& control : allomon::kControls) {
    if (strcmp(argv[1], control.name) == 0) return allomon::Run(control), 0;
  }
  return strcmp(argv[1], "monitor") == 0 ? allomon::RunMonitor() : allomon::RunProfile(argv[1]);
}
