// Saves copies of a recording in progress, as ALLOMON_SAVE requests (README.md).
#ifndef ALLOMON_TRACKER_TRIGGERS_SAVER_H_
#define ALLOMON_TRACKER_TRIGGERS_SAVER_H_

#include <cstddef>
#include <cstdint>

#include "tracker/base/memory_limit.h"
#include "tracker/core/one_inside.h"
#include "tracker/recording/file_path.h"
#include "tracker/recording/recorder.h"
#include "tracker/recording/watcher.h"
#include "tracker/triggers/copy_file.h"
#include "tracker/triggers/recording_copy.h"
#include "tracker/triggers/rules.h"
#include "tracker/triggers/settings.h"

namespace allomon::triggers {

// One object for the process.  It serves one recording after the other, and the child's recording
// in a child of fork.  It is made at the start, allocates all its memory then, and is never
// destroyed.
class Saver final : public recording::Watcher {
 public:
  // Writes a line on standard error; any thread, allocates nothing.
  using Say = void (*)(const char* line, size_t bytes);

  // Counts the contents of the heap's pages in the room.  The saver calls it before each copy,
  // after a sample, so the caller may be inside malloc.  Allocates and maps nothing.
  using ReadHeap = recording::HeapPages (*)(char* room, size_t room_bytes);

  // `says_copies`: also writes a line for each copy.  `read_heap` may be nullptr: copies then lack
  // the contents of the heap's pages.
  Saver(const Settings& settings, Say say, bool says_copies, ReadHeap read_heap = nullptr);
  ~Saver() = delete;

  // One of several threads looks; the others return at once.
  void Look(recording::Recorder& recorder) override;

 private:
  void LookInside(recording::Recorder& recorder);
  bool BeginRecording(recording::Recorder& recorder);
  bool SetPlace(recording::Recorder& recorder);
  Reason DueNow(recording::Recorder& recorder);
  void Save(recording::Recorder& recorder, Reason reason);
  void SayFailure(Reason reason, int error);
  void SaySaved(Reason reason);
  void SayNoPlace();

  const Settings settings_;
  const Say say_;
  const bool says_copies_;
  const ReadHeap read_heap_;
  recording::FilePath directory_ = {};  // absolute, from settings_; empty: the recording's

  internal::OneInside door_;
  // Only the thread inside uses these.
  uint64_t serial_ = 0;     // of the recording to which they refer
  bool has_place_ = false;  // for its copies
  bool has_failed_ = false;
  Rules rules_;
  internal::MemoryLimit memory_limit_;
  CopyFile file_;
  RecordingCopy copy_;
  recording::Standing standing_;
  Facts facts_;
  internal::MemoryUsage usage_;
  recording::FilePath path_ = {};
  internal::FixedText<2 * PATH_MAX> line_;
};

// Called before the host installs a filter of system calls, which may kill it for any call of ours:
// no later look makes a system call.  Any thread; harmless without a Saver.
void StopForFilter();

}  // namespace allomon::triggers

#endif  // ALLOMON_TRACKER_TRIGGERS_SAVER_H_
