// From what was recorded to what is written: source functions with names and positions, and what
// each used.
//
// A program that names functions, by ALLOMON_FUNCTION() or by entry hooks, is attributed to those,
// and what it uses outside of them to <main>: its table depends on the program alone, so an
// executable can answer for it, unless managed functions come behind them.  Any other program, and
// what is live in any, is attributed by its symbol tables: to the innermost function on the call
// stack that has a name, as MLton charges code that was excluded from profiling to its caller.
//
// Functions of their arguments and of the symbol tables of the process.  For use at exit: they
// allocate and read files; never inside malloc, never in a signal handler.
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_

#include <string>

#include "tracker/formats/named_profile.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/write/profile_snapshot.h"

namespace allomon {

// The table of these functions, behind the fixed ones.
SourceTable SourceTableOf(const ProgramFunctions& functions);

NamedProfile Attribute(const ProfileSnapshot& snapshot);

// One line: what was used, for an estimate with its 95 % interval and what is needed to repeat the
// run.
std::string Summarize(const ProfileSnapshot& snapshot, const NamedProfile& profile);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_
