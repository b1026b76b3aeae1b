// Selects and sorts the functions of a profile that are shown.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_FUNCTIONS_H_
#define ALLOMON_TOOLS_REPORT_FLAT_FUNCTIONS_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/mlmon/inputs.h"

namespace allomon::report {

struct Function {
  const SourceName* name = nullptr;  // owned by the profile's program
  MlmonCount count;
};

// By a function's own count, its count with what it called, the collector's meanwhile; by name.
enum class SortKey { kCurrent, kStack, kGc, kName };

// The order of rows.
struct Order {
  SortKey key = SortKey::kCurrent;
  // Puts functions that start programs and threads last if they use less than a hundredth of all
  // themselves.  All calls go through them, so their stack data say nothing.
  bool starters_last = false;
};

// Returns the order that the user asked for.  Without an option rows are sorted by stack data, if
// the profile has them, with starters last.
Order OrderOf(std::optional<SortKey> key, ProfileStyle style);

// Returns the count that `--sort` compares.  For kName it is the current count.
MlmonInt Measure(const MlmonCount& count, SortKey key);

// Returns the position without its line.
std::string_view FileOf(const SourceName& name);

// Returns how many of `count` rows are shown, at most `most`; 0 means all.
size_t ShownRows(size_t count, size_t most);

// Returns the functions with amounts, in that order, the largest first.  Equal ones are sorted by
// their current count, then by their stack count, then by name and position, so that every run of
// the command gives the same order.  Copies of a function that the optimizer made count as one.
// The result refers to `profile`.
std::vector<Function> Functions(const Profile& profile, const Order& order);

// Returns the number of functions that have a position and no amount.
size_t UnusedFunctions(const Profile& profile);

// Returns the sum of the current counts of the functions from `first` on.
MlmonInt SumFrom(const std::vector<Function>& functions, size_t first);

// A function in two profiles.  Its counts are zeros in a profile that lacks it.
struct Change {
  const SourceName* name = nullptr;  // owned by the later program that has the function
  MlmonCount before;
  MlmonCount after;
  bool in_before = false;
  bool in_after = false;

  // Returns the growth of the count that `key` names.  A growth beyond the limits of the type is
  // set to the limit.
  MlmonInt Growth(SortKey key) const;
};

// Returns all functions that changed.  The largest change comes first, up or down; equal ones are
// in the order of Functions().  Functions of two builds are the same if they have the same name and
// the same file, and if as many functions of that name and file come before them, because lines may
// move.
std::vector<Change> Changes(const Pair& pair, const Order& order);

// Removes changes in which the count that `key` names stays the same, as when a function only calls
// another one than before.
void RemoveUnchanged(SortKey key, std::vector<Change>* changes);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FLAT_FUNCTIONS_H_
