// Starts and stops recordings.  Thread safe; not inside malloc, nor in a signal handler.
#ifndef ALLOMON_TRACKER_RECORDING_START_H_
#define ALLOMON_TRACKER_RECORDING_START_H_

#include <cstdint>

#include "tracker/core/control.h"
#include "tracker/recording/recorder.h"

namespace allomon::recording {

struct StartOptions {
  const char* path = nullptr;  // %p is the process id, %% a percent sign
  FileId memory_file;          // where `path` is that of one: the file that must be there
  uint64_t limit_bytes = kDefaultLimitBytes;
  double rate = 1e-4;  // hits per word
  uint64_t seed = 0;
  uint32_t callstack_size = 128;
  Watcher* watcher = nullptr;    // nobody; must live as long as the process
  bool follows_children = true;  // those that it forks; with a memory file they are in it, too
};

// Names the allocator underneath for recordings that begin afterwards: `backend`, and the file
// whose malloc it stands in for, or nullptr.  Both texts must live as long as the process.
void SetAllocatorNames(const char* backend, const char* replaced_file);

struct Started {
  const char* error = nullptr;  // or why it could not be started: "cannot record to PATH: ..."
  internal::ControlError control = internal::ControlError::kNone;
  internal::SessionId session = 0;
};

Started StartRecorder(const StartOptions& options);

// False if no such recording goes on.
bool StopRecorder(internal::SessionId session);

// The path of the file that the calling process writes.  In a child of fork whose recording has not
// begun, it begins.  False if the recording was stopped, is lost, or has no file of this process.
bool PathOf(internal::SessionId session, FilePath* path);

// False if the recording was stopped.
bool TotalsOf(internal::SessionId session, RecorderTotals* totals);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_START_H_
