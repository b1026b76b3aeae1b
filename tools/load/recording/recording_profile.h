// Reads recordings as heap profiles with names.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_RECORDING_PROFILE_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_RECORDING_PROFILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/process/places.h"
#include "tools/symbols/name_sources.h"
#include "tracker/formats/recording.h"
#include "tracker/formats/recording_bytes.h"
#include "tracker/formats/recording_process.h"

namespace allomon::recording {

// A live block on its ordinary page.
struct Held {
  double block_bytes = 0;  // of the block, with what its size class adds
  double held_bytes = 0;   // of the page's free blocks
  double one_in = 1;       // one of so many samples stays on its page
};
// Returns nothing for blocks that lie elsewhere.  `number` counts from 1.
using FindHeld = std::function<std::optional<Held>(const Process& process, uint32_t number)>;

// The bytes of a live block that were never used.
struct Unused {
  double untouched_bytes = 0;
  double zero_bytes = 0;
};
// Returns nothing for a block that cannot be seen.  `number` counts from 1.
using FindUnused = std::function<std::optional<Unused>(const Process& process, uint32_t number)>;

// Whether nothing refers to a live block.  `number` counts from 1.
using IsLost = std::function<bool(const Process& process, uint32_t number)>;

struct RecordingOptions {
  NameSources name_sources;  // where names are looked for, besides the usual places
  bool names = true;         // false: no file of code and no perf map is opened, and frames have
                             // addresses only
  // Chooses processes of the recording; nullptr chooses all.
  std::function<bool(const Process& process)> is_chosen = nullptr;
  // Chooses the process that runs with this id.  Several containers have a process 1 each, and one
  // process may have executed several programs: the last one whose modules are mapped is meant. The
  // default chooses all.
  process::Ids running = {};
  // Returns when a process was last known to run, in nanoseconds since its start: the profile's
  // end, unless a sample or a death was later.  nullptr: a file that its process still writes ends
  // now, and other ones with their last sample or death.
  std::function<uint64_t(const Process& process)> seen_nanos = nullptr;
  // Chooses live blocks by their numbers: the profiles then have nothing else, and samples have
  // these numbers (Sample::live_numbers).  nullptr: all is kept.
  std::function<bool(const Process& process, uint32_t number)> keeps_live = nullptr;
  // Tells of a live block, by its number, what it holds of its page.  nullptr: not known.
  FindHeld find_held = nullptr;
  // Tells of a live block of malloc, by its number, how much of it was never used.  nullptr: not
  // known.
  FindUnused find_unused = nullptr;
  // Tells the type of a live block of malloc, by its number; empty if it is not known.  Blocks with
  // a type get a sample of their own, with no other metric than live.  nullptr: not known.
  std::function<std::string(const Process& process, uint32_t number)> find_type = nullptr;
  // Tells of a live block, by its number, whether nothing refers to it.  nullptr: not known.
  IsLost is_lost = nullptr;
  // Called now and then while names are looked up, with the numbers of addresses done and of all.
  std::function<void(uint64_t done, uint64_t all)> progress = nullptr;
};

// The name of the file of memory into which the processes of allomon run record.
inline constexpr char kMemoryFileName[] = "allomon-recording";

// True if a file with these first bytes is a recording.
bool LooksLikeRecording(std::string_view first_bytes);

// Returns a profile of each program of the recording, at least one, the one that allocated most
// bytes first.  Processes of one executable (path, and build id or file) and rate make one profile.
// Processes without samples are left out, with a note in the first profile, unless no process has
// samples.
//
// An error is one line with the file's name and a remedy.  Memory: at most kMostReadBytes of the
// recording, and a few times that; libdw's for one file of code at a time.
absl::StatusOr<std::vector<heap::HeapProfile>> ReadRecordingProfiles(
    const std::string& path, const RecordingOptions& options);

// Does the same for bytes in memory; messages call them `name`.
absl::StatusOr<std::vector<heap::HeapProfile>> ReadRecordingProfiles(
    const RecordingBytes& bytes, const std::string& name, const RecordingOptions& options);

// Keeps what RecordingOptions::running chooses, or nothing.
void KeepRunning(const process::Ids& ids, std::vector<Process>* processes);

// Returns the time since the process began, for RecordingOptions::seen_nanos of one that runs.  A
// clock may have been set meanwhile, or be that of another namespace: the smaller difference
// counts.
uint64_t NanosSinceStart(const Process& process);

// ---- Converts the losses of a recorded process to those of a profile.
//
// A function of its argument; it does not fail.

heap::Missing MissingOf(const Shortages& shortages);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_RECORDING_PROFILE_H_
