// Starting and stopping what is recorded, without Abseil: for profile.h and for the library that
// profiles from the environment.
//
// Thread safe; not inside malloc, not in signal handlers.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_CONTROL_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_CONTROL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracker/formats/mlmon.h"
#include "tracker/profile/sources/live_session.h"

namespace allomon::internal {

struct RecordingOptions {
  ProfileKind kind = ProfileKind::kAlloc;
  ProfileStyle style = ProfileStyle::kCurrent;
  double rate = 1;               // kind alloc: samples per word
  std::optional<uint64_t> seed;  // kind alloc; default: unpredictable
  uint32_t hz = 100;             // kind time: 1 .. 10000
  // Kind alloc: what has not been freed, instead of all.  Charged to call stacks, in programs that
  // name functions too, for the whole process: units of data know nothing of it.
  bool live = false;
  // Where call stacks are charged: functions that are charged to their callers; shell patterns,
  // separated by commas.
  std::string exclude;
};

enum class RecordingError { kNone, kOn, kOff, kBadOption, kNothingToRecord, kUnavailable };

// A profile of another kind or style than the last one's starts with empty units; of the same, it
// adds to them.  On failure *error is one line, and nothing is recorded.
RecordingError StartRecording(const RecordingOptions& options, std::string* error);
RecordingError StopRecording();
bool IsRecording();

// The options of the last start, with the seed that was drawn.
RecordingOptions LastRecording();

// The blocks that the last start has followed and that are live: now, or when it was stopped.
// False if the last start was of another kind.
bool LastLiveHeap(LiveHeap* heap);

// Reads "alloc", "live", "time,stack" and their like into kind, style and live.
bool ParseProfile(std::string_view text, RecordingOptions* options);
inline constexpr char kProfileSyntax[] =
    "no, or alloc, live, time or count, and perhaps ,stack behind it";

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_CONTROL_H_
