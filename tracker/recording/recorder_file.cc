// The file of a recorder: it is opened, gets its name, and in a child of fork begins anew.
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/clock.h"
#include "tracker/core/fork.h"
#include "tracker/recording/file_owner.h"
#include "tracker/recording/recorder.h"

namespace allomon::recording {

const char* const kTwoRecordings = "two recordings go on already; stop one";

const char* Recorder::Open() {
  const RecorderHold hold;
  while (place_ == kMostRecorders || recorders_[place_] != nullptr) {
    place_ = place_ == kMostRecorders ? 0 : place_ + 1;
    if (place_ == kMostRecorders) return kTwoRecordings;
  }
  const char* const error = OpenFile();
  if (error != nullptr) return error;
  if (!BeginStore()) {
    const bool is_named = file_.is_named();
    file_.Close();
    return is_named ? "its limit is reached; set a larger ALLOMON_RECORD_LIMIT" : kMemoryFileFull;
  }
  fork_mark_.Set();
  recorders_[place_] = this;
  is_writing_.store(true, std::memory_order_release);
  return nullptr;
}

// Another process may still write a file of that name: a program started with the same environment,
// or a process with the same id in another pid namespace.
const char* Recorder::FindPath(bool is_child, FilePath* path) const {
  for (uint32_t attempt = is_child ? 1 : 0; attempt < kMostAttempts; ++attempt) {
    if (!ExpandPath(pattern_.text, facts_.pid, attempt > 0, attempt, path)) {
      return "its path is too long";
    }
    if (!IsOfAnother(*path, facts_.pid)) break;
  }
  return nullptr;
}

const char* Recorder::OpenFile() {
  FilePath path;
  const char* const error = FindPath(false, &path);
  return error != nullptr ? error : file_.Open(path, limit_bytes_, memory_file_);
}

const char* Recorder::Commit() {
  const RecorderHold hold;
  return CommitFile(false);
}

// Containers may start at once, with one name for the files of their processes 1.
const char* Recorder::CommitFile(bool is_child) {
  const char* error = file_.Commit(facts_.pid);
  for (uint32_t tries = 0; error == kNameTaken && tries < kMostAttempts; ++tries) {
    if (const char* const unknown = FindPath(is_child, file_.mutable_path())) return unknown;
    error = file_.Commit(facts_.pid);
  }
  return error;
}

bool Recorder::BeginStore() {
  if (!store_.Begin(&file_, facts_)) return false;
  serial_ = ++last_serial_;
  ALLOMON_DCHECK_NE("inv.recording.serial", serial_, 0u);
  check_nanos_.store(Nanos(), std::memory_order_relaxed);
  return true;
}

bool Recorder::CopyOwnPath(FilePath* path) {
  const RecorderHold hold;
  if (fork_mark_.IsInChild()) BeginAsChild();
  if (!store_.is_begun() || !IsReadyLocked() || !file_.is_named()) return false;
  memcpy(path, &file_.path(), sizeof(*path));
  return true;
}

// From now on, blocks with the old serial belong to the parent.
void Recorder::BeginAsChild() {
  ALLOMON_DCHECK("inv.recording.serial", fork_mark_.IsInChild());
  is_writing_.store(false, std::memory_order_relaxed);
  store_.Clear();
  serial_ = 0;
  unwritten_ = {};
  is_lost_ = false;
  look_nanos_.store(0 - kLookNanos, std::memory_order_relaxed);
  look_bytes_.store(0, std::memory_order_relaxed);
  facts_.parent_pid = facts_.pid;
  facts_.pid = internal::OwnProcessIdAfterFork();
  facts_.is_forked = true;
  facts_.start_realtime_nanos = internal::ClockNanos(CLOCK_REALTIME);
  facts_.start_monotonic_nanos = internal::ClockNanos(CLOCK_MONOTONIC);
  class_weights_.ForgetOtherThreads();
  const bool begun =
      facts_.follows_children && OpenForChild() && BeginStore() && CommitFile(true) == nullptr;
  if (!begun && facts_.follows_children) GiveUpInChild();
  is_writing_.store(begun && !has_ended_, std::memory_order_relaxed);
  fork_mark_.Set();  // last; see IsWriting()
}

// Prevents a child without a recording from checking the file at each sample, and from leaving
// behind a file without its final name.
void Recorder::GiveUpInChild() {
  store_.Clear();
  if (file_.is_open() && file_.is_named()) file_.Close();
}

// Opens the file of a child.  A memory file is shared with the parent.
bool Recorder::OpenForChild() {
  if (!file_.is_named()) return file_.is_open();
  FilePath path;
  file_.CloseInChild();
  return FindPath(true, &path) == nullptr && file_.Open(path, limit_bytes_) == nullptr;
}

}  // namespace allomon::recording
