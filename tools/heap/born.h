// Live blocks by the time of their birth.
//
// All are functions of their arguments.
#ifndef ALLOMON_TOOLS_HEAP_BORN_H_
#define ALLOMON_TOOLS_HEAP_BORN_H_

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// Ages at the profile's end, in seconds.
struct Born {
  double oldest_seconds = std::numeric_limits<double>::infinity();
  double youngest_seconds = 0;

  bool is_all() const {
    return youngest_seconds <= 0 && oldest_seconds == std::numeric_limits<double>::infinity();
  }
};

// Parses "10m..2m", "10m.." (until the end) and "..2m" (from the start).  The units are ms, s, m, h
// and d.  nullopt: it is none of these, or no time is between the two.
std::optional<Born> ParseBorn(std::string_view text);

// Keeps the live blocks that were born in that time: the profile then has no other metric, no
// threads and no timeline.  Ages are known by classes, and a class that is in the time in part is
// kept whole: a note says which time that makes, and how much was allocated in it.
//
// Returns one line, and changes nothing, if no age is known.  Else an empty text.  Of all times it
// changes nothing.
std::string KeepBorn(const Born& born, HeapProfile* profile);

// Drops all that is not of live blocks: samples without any, other metrics, threads, the timeline.
// For parts of the live blocks, of which nothing else is known.
void KeepLiveAlone(HeapProfile* profile);

// The same, and what is live is what has an age.
void KeepAgedAlone(HeapProfile* profile);

// ---- Classes of ages.  Cells of a class are not told apart.

// Returns the ages of the cell's class: a factor of two, or an eighth of that.
Born AgesOf(const AgeCell& cell);

// Returns the sample with the live blocks of one of its cells alone, and no other metric.
Sample OfCell(const Sample& sample, const AgeCell& cell);

// Returns the eighth of an age: AgeCell::eighth.
uint8_t EighthOf(uint64_t nanos);

// ---- Live blocks that have outlived their scope of labels.
//
// All are functions of their arguments.

// A choice of blocks that outlived scopes.
struct Outlived {
  bool is_asked = false;  // false: all blocks
  std::string key;        // scopes of this label; empty: of any
};

// Keeps the live blocks of ended scopes: the profile then has no other metric, no threads and
// no timeline, and ages are the times since the ends.  A note says so.  A block of several such
// scopes counts once: for the innermost one, or for that of the key.
//
// Returns one line, and changes nothing, if the profile tells no end of a scope.  Else an empty
// text.  A key that no sample has is a note: scopes of it may have had no sampled blocks.
std::string KeepOutlived(const Outlived& outlived, HeapProfile* profile);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_BORN_H_
