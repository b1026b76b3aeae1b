// Profiles in the form that MLton's runtime writes and mlprof reads: the file mlmon.out.  MLMON.md
// in this folder has the grammar, the units and an example.
//
// Everything here is a pure function of its arguments: thread safe as long as two threads do not
// share a destination, nothing is thrown, and an error is one line of text without a newline.  It
// allocates with operator new, so none of it may be called inside malloc or in a signal handler.
#ifndef ALLOMON_TRACKER_FORMATS_MLMON_H_
#define ALLOMON_TRACKER_FORMATS_MLMON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/formats/profile_kind.h"

namespace allomon {

// Bytes, hundredths of a second or calls, by ProfileKind.  MLton counts in 64 bits and mlprof adds
// without bound; 127 bits hold the sum of 2^63 full files.
using MlmonInt = __int128;

// The amounts that one function used.  The last two are written only in ProfileStyle::kStack.
struct MlmonCount {
  MlmonInt current = 0;   // while it was the one running
  MlmonInt stack = 0;     // while it was on the stack, collector excluded
  MlmonInt stack_gc = 0;  // used by the collector while it was on the stack
};

struct Mlmon {
  ProfileKind kind = ProfileKind::kAlloc;
  ProfileStyle style = ProfileStyle::kCurrent;
  uint32_t magic = 0;     // magic of the SourceTable to which the indices below refer
  MlmonInt total = 0;     // without total_gc
  MlmonInt total_gc = 0;  // used by the collector
  // By index of SourceTable::sources and SourceTable::names, respectively.
  std::vector<MlmonCount> splits;
  std::vector<MlmonCount> masters;
};

// Returns the bytes of the file.  Formatting a parsed file of a real MLton program gives the same
// bytes.  Linear in the number of functions.
std::string FormatMlmon(const Mlmon& profile);

// Accepts exactly what mlprof accepts, except that a number outside 128 bits is an error.  Error
// texts are mlprof's if it has one.  On failure `profile` is unspecified and `error` has the
// reason.  Neither totals nor lengths are compared with anything: that needs the executable.
bool ParseMlmon(std::string_view text, Mlmon* profile, std::string* error);

// Adds `other` to `sum`.  The checks are in mlprof's order: magic, style, lengths, kind.  On
// failure `sum` is unchanged, so that a caller may skip the file and go on.
bool MergeMlmon(const Mlmon& other, Mlmon* sum, std::string* error);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_MLMON_H_
