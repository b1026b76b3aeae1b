// Turns a recorded profile into the profile that is written: source functions with names, positions
// and amounts.
//
// A program that names functions, by ALLOMON_FUNCTION() or by entry hooks, is attributed to those
// functions, and its use outside of them to <main>. The table of such a program depends on the
// program alone, unless managed functions follow its own, so an executable can answer for it.  Any
// other program, and live blocks in any program, are attributed by its code: to the innermost
// function on the call stack that is no wrapper (names/wrappers.h).  MLton charges code that was
// excluded from profiling to its caller in the same way.  Stripped functions are named by module
// and offset.
//
// The results depend only on the arguments and on the symbol tables of the process.  The functions
// are for use at exit: they allocate and read files.  Never inside malloc, never in a signal
// handler.
#ifndef ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_
#define ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_

#include <string>

#include "tracker/formats/named_profile.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/write/profile_snapshot.h"

namespace allomon {

// Returns the table of these functions, which follow the fixed ones.  *missing_names, if not null,
// is a line with the reason why functions have no names, or empty.
SourceTable SourceTableOf(const ProgramFunctions& functions, std::string* missing_names = nullptr);

NamedProfile Attribute(const ProfileSnapshot& snapshot);

// Returns one line: the total that was used.  For an estimate, the line also has the 95 % interval
// and the settings that are needed to repeat the run.
std::string Summarize(const ProfileSnapshot& snapshot, const NamedProfile& profile);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_
