// Saves copies of a recording while it goes on, when ALLOMON_SAVE says so (README.md).
#ifndef ALLOMON_TRACKER_TRIGGERS_SAVER_H_
#define ALLOMON_TRACKER_TRIGGERS_SAVER_H_

#include <cstddef>
#include <cstdint>

#include "tracker/core/one_inside.h"
#include "tracker/recording/file_path.h"
#include "tracker/recording/recorder.h"
#include "tracker/recording/watcher.h"
#include "tracker/triggers/copy_file.h"
#include "tracker/triggers/memory_limit.h"
#include "tracker/triggers/recording_copy.h"
#include "tracker/triggers/rules.h"
#include "tracker/triggers/settings.h"

namespace allomon::triggers {

// One for the process: of one recording after the other, and of a child's in the child.  It is made
// at the start, holds all memory that it will need, and is never destroyed.
class Saver final : public recording::Watcher {
 public:
  // Writes a line on standard error; any thread, allocates nothing.
  using Say = void (*)(const char* line, size_t bytes);

  // `says_copies`: a line for each copy, too.
  Saver(const Settings& settings, Say say, bool says_copies);
  ~Saver() = delete;

  // Of several threads the first looks, and the others go by.
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
  recording::FilePath directory_ = {};  // of settings_, from the root on; empty: the recording's

  internal::OneInside door_;
  // All of these are for the thread inside.
  uint64_t serial_ = 0;     // of the recording that they are about
  bool has_place_ = false;  // for its copies
  bool has_failed_ = false;
  Rules rules_;
  MemoryLimit memory_limit_;
  CopyFile file_;
  RecordingCopy copy_;
  recording::Standing standing_;
  Facts facts_;
  Usage usage_;
  recording::FilePath path_ = {};
  FixedText<2 * PATH_MAX> line_;
};

// The host gives itself up to a filter of system calls, which may kill it for any of ours: no look
// makes one any more.  To be called before it does.  Any thread; harmless without a Saver.
void StopForFilter();

}  // namespace allomon::triggers

#endif  // ALLOMON_TRACKER_TRIGGERS_SAVER_H_
