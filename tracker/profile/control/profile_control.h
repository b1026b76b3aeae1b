// Starts and stops the recording, without Abseil: for profile.h and for the library that profiles
// from the environment.
//
// Thread safe; not inside malloc, not in signal handlers.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_CONTROL_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_CONTROL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tracker/core/control.h"
#include "tracker/formats/mlmon.h"
#include "tracker/profile/sources/live_session.h"

namespace allomon::internal {

struct RecordingOptions {
  ProfileKind kind = ProfileKind::kAlloc;
  ProfileStyle style = ProfileStyle::kCurrent;
  double rate = 1;               // kind alloc: samples per word
  std::optional<uint64_t> seed;  // kind alloc; default: unpredictable
  uint32_t hz = 100;             // kind time: 1 .. 10000
  // Kind alloc: profile the blocks that have not been freed, instead of all blocks.  They are
  // charged to call stacks, also in programs that name functions.  They are counted for the whole
  // process, not by unit of data.
  bool live = false;
  // For recordings that charge call stacks: further functions whose callers are charged instead, as
  // shell patterns separated by commas.  Unset: only the known wrappers (names/wrappers.h); empty:
  // no function.
  std::optional<std::string> exclude;
};

enum class RecordingError { kNone, kOn, kOff, kBadOption, kNothingToRecord, kUnavailable };

// A profile of another kind or style than the last one starts with empty units.  A profile of the
// same kind and style adds to the units.  On failure *error is one line, and nothing is recorded.
RecordingError StartRecording(const RecordingOptions& options, std::string* error);
RecordingError StopRecording();
bool IsRecording();

// The options of the last start, with the seed that was drawn.
RecordingOptions LastRecording();

// Returns the live blocks that the last start has followed, either now or when that recording was
// stopped.  nullptr if the last start was of another kind.
std::shared_ptr<const LiveHeap> LastLiveHeap();

// While one exists its thread takes no samples, since the profiler's own allocations are not the
// program's.
using OwnWork = SuspendedSampling;

// Reads a text such as "alloc", "live" or "time,stack" into kind, style and live.
bool ParseProfile(std::string_view text, RecordingOptions* options);
inline constexpr char kProfileSyntax[] =
    "no, idle, or alloc, live, time or count, and perhaps ,stack behind it";

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_CONTROL_H_
