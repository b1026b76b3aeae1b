// Reads recordings of this version and of earlier ones.  RECORDING.md has the format,
// recording_layout.h its records.
//
// The values are those of the file, repaired if it is damaged: numbers of records are in range, a
// node's parent has a smaller number than the node, sums are no larger than a process can allocate.
// Memory is bounded by the segments that the file really contains (kMostReadBytes; rows take 1.7
// times their room in the file), time by its size.
//
// Pure functions of the bytes: thread safe; they allocate with operator new.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tracker/formats/recording_bytes.h"
#include "tracker/formats/recording_layout.h"
#include "tracker/formats/recording_process.h"

namespace allomon::recording {

struct Recording {
  FileHeader header = {};
  std::vector<Process> processes;  // in the order in which they began
  std::vector<std::string> notes;  // for people, a line each: processes that were left out
};

// On failure returns false, and *error is one line without the file's name.  A recording in which
// no process has begun yet is read, and has no processes.
bool ReadRecording(const RecordingBytes& bytes, Recording* recording, std::string* error);

// Facts about a process that are available while it runs.
struct ProcessTotals {
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  bool is_forked = false;
  bool has_ended = false;
  std::string program;
  std::string command;
  double rate = 0;
  uint64_t start_realtime_nanos = 0;
  uint64_t last_nanos = 0;
  Sum allocated;
  Sum live;
  double peak_bytes = 0;
  Shortages missing;
  bool is_lost = false;
};

// Reads the processes that have begun.  Cost: 64 bytes of each segment, a page or two of each
// process, and 152 bytes of each thread.
bool ReadTotals(const RecordingBytes& bytes, std::vector<ProcessTotals>* totals,
                std::string* error);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_H_
