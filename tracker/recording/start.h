// Starts and stops recordings.  Thread safe; not inside malloc, nor in a signal handler.
#ifndef ALLOMON_TRACKER_RECORDING_START_H_
#define ALLOMON_TRACKER_RECORDING_START_H_

#include <cstdint>

#include "tracker/core/control.h"
#include "tracker/recording/recorder.h"

namespace allomon::recording {

struct StartOptions {
  const char* path = nullptr;  // %p is the process id, %% a percent sign
  FileId memory_file;          // if `path` is a memory file's: the file that must be there
  uint64_t limit_bytes = kDefaultLimitBytes;
  double rate = 1e-4;  // hits per word
  uint64_t seed = 0;
  uint32_t callstack_size = 128;
  Watcher* watcher = nullptr;    // nullptr: no watcher; must live as long as the process
  bool follows_children = true;  // after fork; with a memory file they share it
};

// Names the allocator underneath for recordings that begin afterwards: `backend`, and the file
// whose malloc it stands in for, or nullptr.  Both texts must live as long as the process.
void SetAllocatorNames(const char* backend, const char* replaced_file);

struct Started {
  const char* error = nullptr;  // why it could not be started: "cannot record to PATH: ..."
  internal::ControlError control = internal::ControlError::kNone;
  internal::SessionId session = 0;
};

Started StartRecorder(const StartOptions& options);

// Returns false if there is no such recording.
bool StopRecorder(internal::SessionId session);

// Returns the path of the file that the calling process writes.  A child of fork begins its
// recording first if it has not yet.  Returns false if the recording was stopped, is lost, or has
// no file of this process.
bool PathOf(internal::SessionId session, FilePath* path);

// False if the recording was stopped.
bool TotalsOf(internal::SessionId session, RecorderTotals* totals);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_START_H_
