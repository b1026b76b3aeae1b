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
#include <string_view>
#include <vector>

#include "tracker/formats/mlmon.h"
#include "tracker/formats/named_profile.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/write/profile_snapshot.h"

namespace allomon {

// ---- Converts amounts in the finest unit of their kind to the whole numbers of mlmon.out.

struct RoundedTotals {
  MlmonInt total = 0;     // of all functions but <gc>
  MlmonInt total_gc = 0;  // of <gc>
};

// Divides all counts by `divisor`, and rounds them so that the current counts add up to the totals,
// and that inv.written.order holds.  A function that called nothing has as much in its stack count
// as in its current one, and so have functions that called only that one.  No count is off by a
// unit or more.  `counts` begin with <unknown>, <gc> and <main>; `has_stack`: the stack counts are
// written.  Pure; takes time n log n.
RoundedTotals RoundCounts(MlmonInt divisor, bool has_stack, std::vector<MlmonCount>* counts);

// Returns the table of these functions, which follow the fixed ones.  *missing_names, if not null,
// is a line with the reason why functions have no names, or empty.
SourceTable SourceTableOf(const ProgramFunctions& functions, std::string* missing_names = nullptr);

NamedProfile Attribute(const ProfileSnapshot& snapshot);

// Returns one line: the total that was used.  For an estimate, the line also has the 95 % interval
// and the settings that are needed to repeat the run.
std::string Summarize(const ProfileSnapshot& snapshot, const NamedProfile& profile);

// ---- Computes short names of functions from compilers' signatures.

// Returns the qualified name in a signature as __PRETTY_FUNCTION__ spells it, without return type
// and parameters.  Template arguments stay, so that instances differ:
//   "int ns::S::m(int) const"         -> "ns::S::m"
//   "T ns::add(T) [with T = char]"    -> "ns::add [T = char]"
//   "main(int, char**)::<lambda(int)>" -> "main(int, char**)::<lambda(int)>"
// A signature that the parser does not understand is returned unchanged.
std::string FunctionNameOf(std::string_view signature);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_ATTRIBUTION_H_
