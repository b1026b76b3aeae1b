// Recordings as heap profiles with names.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_RECORDING_PROFILE_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_RECORDING_PROFILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tracker/formats/recording.h"
#include "tracker/formats/recording_bytes.h"

namespace allomon::recording {

struct RecordingOptions {
  std::string debug_dir;  // looked through for debug files, besides the usual places; or empty
  bool names = true;      // false: no file of code, and no perf map, is opened, and frames have
                          // addresses only
  // Which processes of the recording count; nullptr: all.
  std::function<bool(const Process& process)> is_chosen = nullptr;
  // Called now and then while names are looked up: of so many addresses so many are done.
  std::function<void(uint64_t done, uint64_t all)> progress = nullptr;
};

// By the first bytes of a file.
bool LooksLikeRecording(std::string_view first_bytes);

// A profile of each program of the recording, at least one; that which allocated most bytes comes
// first.  Processes of one executable (path, and build id or file) and rate are one profile.
// Processes without samples are left out, with a note in the first profile, unless there are no
// others.
//
// An error is one line with the file's name and a remedy.  Memory: of the recording, at most
// kMostReadBytes, and a few times that; libdw's for one file of code at a time.
absl::StatusOr<std::vector<heap::HeapProfile>> ReadRecordingProfiles(
    const std::string& path, const RecordingOptions& options);

// The same of bytes; `name` stands for the file's in messages.
absl::StatusOr<std::vector<heap::HeapProfile>> ReadRecordingProfiles(
    const RecordingBytes& bytes, const std::string& name, const RecordingOptions& options);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_RECORDING_PROFILE_H_
