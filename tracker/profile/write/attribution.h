// From what was counted to what is written: source functions with names and positions,
// and what each used.
//
// A program that names functions, by ALLOMON_FUNCTION() or by entry hooks, is attributed
// to those, and what it uses outside of them to <main>: its table depends on the program
// alone, so an executable can answer for it, unless managed functions come behind them.  Any
// other program, and what is live in any, is attributed by its symbol tables: to the
// innermost function on the call stack that has a name, as MLton charges code that was
// excluded from profiling to its caller.
//
// For use at exit: allocates, reads files.
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_

#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/record/data_units.h"

namespace allomon {

// The table of the functions with entry hooks and ALLOMON_FUNCTION().
SourceTable RegisteredSourceTable();

struct AttributedProfile {
  SourceTable sources;
  Mlmon mlmon;
  // Of kind alloc: of the total, in bytes squared.
  double variance = 0;
  // Of kind alloc: what is live, not all that was allocated.
  bool live = false;
  // Of what is live: of samples that there was no room to follow, and that are not in the total.
  uint64_t dropped_bytes = 0;
  // True if the executable itself answers `@MLton show-sources` with this table.
  bool self_described = false;
};

// Fails with kFreed.
internal::UnitError Attribute(internal::UnitName unit, AttributedProfile* profile);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_
