// Reading recordings.  RECORDING.md has the format, recording_layout.h its records.
//
// The values are what the file says, put right where it is damaged: numbers of records are in
// range, a node's parent has a smaller number than it, sums are no larger than a process can
// allocate.
// Memory is bounded by the segments that the file really holds (kMostReadBytes), time by its size.
//
// Pure functions of the bytes: thread safe; they allocate with operator new.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/formats/recording_bytes.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::recording {

// One process of a recording.  A record's number is its index plus one; records that are not in use
// are all zero.
struct Process {
  ProcessRecord record = {};
  std::string program;  // path of the executable
  std::string command;  // its arguments, with spaces between
  std::vector<Node> nodes;
  std::vector<Row> rows;
  std::vector<Event> events;
  std::vector<LiveBlock> live;
  std::vector<Thread> threads;
  std::vector<TimelinePoint> timeline;
  std::vector<Module> modules;
  std::string text;
  uint64_t damaged = 0;            // records that were left out or put right
  std::vector<std::string> notes;  // for people, a line each: what is wrong with it

  // Points into `text`; empty if it is not there.
  std::string_view TextOf(const TextRef& ref) const;
  // Of a node of the kind kNamed.
  std::string_view NameOf(const Node& node) const;
};

// What was live at the peak.
inline const Sum& PeakOf(const Process& process, const Row& row) {
  return row.peak_epoch == process.record.peak_epoch ? row.saved : row.live;
}

struct Recording {
  FileHeader header = {};
  std::vector<Process> processes;  // in the order in which they began
  std::vector<std::string> notes;  // for people, a line each: which processes were left out
};

// On failure returns false, and *error is one line without the file's name.  A recording in which
// no process has begun yet is read, and has no processes.
bool ReadRecording(const RecordingBytes& bytes, Recording* recording, std::string* error);

// What there is to say of a process while it runs.
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
  Sum allocated = {};
  Sum live = {};
  Sum peak = {};
  uint64_t dropped_samples = 0;
  uint64_t dropped_bytes = 0;
  bool is_lost = false;
};

// Those that have begun.  Cost: 64 bytes of each segment, and a page or two of each process.
bool ReadTotals(const RecordingBytes& bytes, std::vector<ProcessTotals>* totals,
                std::string* error);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_H_
