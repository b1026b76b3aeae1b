#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "allocator/environment/auto_profile_ends.h"
#include "allocator/environment/auto_profile_file.h"
#include "allocator/environment/auto_profile_say.h"
#include "allocator/environment/auto_recording.h"
#include "allocator/host/interrupted_code.h"
#include "allocator/host/writing_reserve.h"
#include "tracker/base/all_signals_blocked.h"
#include "tracker/base/check.h"
#include "tracker/base/default_float.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/base/uncancelled.h"
#include "tracker/heap_client.h"
#include "tracker/profile/control/profile_control.h"

namespace allomon::internal {

AutoProfile* auto_profile = nullptr;

namespace {

// The thread that is in ForkDaemon(), or 0.  The child's only thread has the same value.
std::atomic<pthread_t> g_daemon_forker{0};

// One writing: its arguments, and whether it succeeded.
struct Writing {
  AutoProfile& profile;
  UnitName unit;
  void (*write)(Writing&);
  bool written = false;
};

void SayNoMemory() {
  SayLoss(
      "no memory is left to write the profile, which is lost; raise `ulimit -v`, or ask for it "
      "earlier, by ALLOMON_DUMP");
}

// Every writing uses this function, so that its allocations are not sampled and it is given up if
// there is no memory.  Called under the profile's mutex.  A writer that is given up does not leave
// its scopes.
bool Write(AutoProfile& profile, UnitName unit, void (*write)(Writing&)) {
  const Uncancelled uncancelled;
  const DefaultFloat our_float;
  const OwnWork own;
  Writing writing = {profile, unit, write};
  const auto run = [](void* argument) {
    Writing& asked = *static_cast<Writing*>(argument);
    asked.write(asked);
  };
  if (!RunWriter(run, &writing)) SayNoMemory();
  return writing.written;
}

// Writes another file of the run so far, or the last one.
void WriteNext(Writing& writing) {
  AutoProfile& profile = writing.profile;
  writing.written = WriteFileLocked(profile, NextPath(profile), writing.unit, Refusal::kSaid);
  if (writing.written) ++profile.files;
}

// Blocks signals: a signal's handler would be charged to our function, and so would a tick.
void StopAndWrite(Writing& writing) {
  const bool writes = writing.profile.MayWrite();
  writing.profile.on = false;
  {
    const AllSignalsBlocked blocked;
    StopRecording();
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

// Writes the last file unless its total is less than `least_total`.
void WriteLastIfAtLeast(MlmonInt least_total, UnitName unit) {
  if (auto_profile == nullptr) return;
  const ProfileLock lock(*auto_profile);
  if (!auto_profile->on) return;
  auto_profile->rule.Demand(least_total);
  Write(*auto_profile, unit, StopAndWrite);
}

// Whether this is the process that started the profile, or a child of fork that has a file of its
// own.  False for a child of vfork, which shares its parent's memory.
bool MayWriteHere() {
  return auto_profile != nullptr && auto_profile->MayWrite() && auto_profile->process == getpid();
}

void SayInterrupted() {
  SayLoss(
      "the program ends by _exit in a signal handler, at a place where the profile cannot be "
      "written; it is lost");
}

// A shell, env, nice or a forked child records less than this, mostly, before it executes the
// intended program.
constexpr MlmonInt kLeastBeforeExec[] = {1 << 20, 10, 10'000};  // bytes, 1/100 s, calls

}  // namespace

void WriteLast(UnitName unit) { WriteLastIfAtLeast(0, unit); }

void WriteAndGoOn(UnitName unit) {
  const ProfileLock lock(*auto_profile);
  if (auto_profile->MayWrite()) Write(*auto_profile, unit, WriteNext);
}

void WriteBeforeQuickEnd(const FrameState& caller) {
  StopAttending();
  if (!MayWriteHere()) return;
  const ErrnoKeeper keeper;
  if (!MayAllocateHere(caller)) {
    if (!auto_profile->forked) SayInterrupted();
    return;
  }
  WriteLastIfAtLeast(1, CurrentUnit());
}

// Live blocks of a forked child are mostly its parent's.
bool WriteBeforeExec(const char* path, const FrameState& caller) {
  if (!MayWriteHere()) return false;
  const ErrnoKeeper keeper;
  if (path != nullptr && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0) return false;
  if (!MayAllocateHere(caller)) return false;
  const RecordingOptions recording = RecordingFrom(auto_profile->options);
  if (auto_profile->forked && recording.live) return false;
  const ProfileLock lock(*auto_profile);
  if (!auto_profile->on) return false;  // another thread ends the program
  const ProfileKind kind = recording.kind;
  ALLOMON_DCHECK_LT("inv.environment.options", static_cast<size_t>(kind),
                    sizeof(kLeastBeforeExec) / sizeof(kLeastBeforeExec[0]));
  auto_profile->rule.Demand(kLeastBeforeExec[static_cast<int>(kind)]);
  const bool written = Write(*auto_profile, CurrentUnit(), WriteBesideOutput);
  auto_profile->rule.Demand(0);
  return written;
}

pid_t ForkDaemon() {
  g_daemon_forker.store(pthread_self(), std::memory_order_relaxed);
  const pid_t child = fork();
  if (child > 0) StopAttending();
  g_daemon_forker.store(0, std::memory_order_relaxed);
  return child;
}

bool IsForkedDaemon() { return g_daemon_forker.load(std::memory_order_relaxed) == pthread_self(); }

void PrepareForNewRoot() {
  if (MayWriteHere()) PrepareLossNote();
}

void ForgetExec() {
  const ErrnoKeeper keeper;
  const OwnWork own;
  const ProfileLock lock(*auto_profile);
  ALLOMON_DCHECK("inv.environment.exec", !auto_profile->before_exec.empty());
  unlink(auto_profile->before_exec.c_str());
  unlink((auto_profile->before_exec + ".sources").c_str());
}

}  // namespace allomon::internal
