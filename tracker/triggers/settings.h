// The settings in ALLOMON_SAVE, such as peak+10%,every=60s,limit=90%,age=1h.
//
// Plain values; nothing here allocates.
#ifndef ALLOMON_TRACKER_TRIGGERS_SETTINGS_H_
#define ALLOMON_TRACKER_TRIGGERS_SETTINGS_H_

#include <cstdint>
#include <string_view>

namespace allomon::triggers {

// A value of 0 means that the trigger is off.
struct Settings {
  uint32_t peak_percent = 0;   // growth of a peak over the last saved one; 1 to 1000
  uint64_t every_nanos = 0;    // from 1 s on
  uint32_t limit_percent = 0;  // of the cgroup's or the address space's limit; 1 to 99
  uint64_t age_nanos = 0;      // of a live block; from 1 s on
  uint32_t keep = 5;           // copies of each kind; 1 to 99
  std::string_view directory;  // of copies; empty: the recording's
};

inline constexpr char kSettingsSyntax[] =
    "peak+10%, every=60s, limit=90% or age=1h, several with commas between them, and perhaps "
    "keep=5 (copies of each) and dir=DIRECTORY";

// Parses `text`, which must live as long as the settings.  On failure returns false, and *wrong is
// the word that is unknown, out of range or repeated; it is empty if there is no trigger.
bool ParseSettings(std::string_view text, Settings* settings, std::string_view* wrong);

}  // namespace allomon::triggers

#endif  // ALLOMON_TRACKER_TRIGGERS_SETTINGS_H_
