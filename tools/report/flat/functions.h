// The functions of a profile that are shown, and their order.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_FUNCTIONS_H_
#define ALLOMON_TOOLS_REPORT_FLAT_FUNCTIONS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "tools/mlmon/inputs.h"
#include "tools/report/flat/options.h"

namespace allomon::report {

struct Function {
  const SourceName* name = nullptr;  // owned by the profile's program
  MlmonCount count;
};

// How rows are sorted.
struct Order {
  SortKey key = SortKey::kCurrent;
  // Functions that start programs and threads, and use less than a hundredth of all themselves,
  // come last: everything went through them, which says nothing.
  bool starters_last = false;
};

// The order that the user asked for.  Without that it is by stack data, where the profile has them,
// with starters last.
Order OrderOf(const Options& options, ProfileStyle style);

// The count that `--sort` compares.  For kName it is the current count.
MlmonInt Measure(const MlmonCount& count, SortKey key);

// The position without its line.
std::string_view FileOf(const SourceName& name);

// How many of `count` rows are shown if at `most` that many may be; 0: all.
size_t ShownRows(size_t count, size_t most);

// The functions that used something, in that order, the largest first.  Equal ones are sorted by
// their current count, then by their stack count, then by name and position, so that every run of
// the command gives the same order.  Copies of a function that the optimizer made count as one.
// Refers to `profile`.
std::vector<Function> Functions(const Profile& profile, const Order& order);

// The number of functions that have a position and used nothing.
size_t UnusedFunctions(const Profile& profile);

// The sum of the current counts of the functions from `first` on.
MlmonInt SumFrom(const std::vector<Function>& functions, size_t first);

// A function in two profiles.  Its counts are zeros in a profile that lacks it.
struct Change {
  const SourceName* name = nullptr;  // owned by the later program that has the function
  MlmonCount before;
  MlmonCount after;
  bool in_before = false;
  bool in_after = false;

  // The growth of the count that `key` names.  A growth beyond the limits of the type is set to the
  // limit.
  MlmonInt Growth(SortKey key) const;
};

// All functions that changed.  The largest change comes first, up or down; equal ones are in the
// order of Functions().  Functions of two builds are the same if they have the same name and the
// same file, and if as many functions of that name and file come before them: lines may move.
std::vector<Change> Changes(const Pair& pair, const Order& order);

// Removes the changes that are none of the count that `key` names, as where a function calls
// another one than before.
void RemoveUnchanged(SortKey key, std::vector<Change>* changes);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FLAT_FUNCTIONS_H_
