// What is shown of a profile: functions, in an order.
#ifndef ALLOMON_TOOLS_REPORT_FUNCTIONS_H_
#define ALLOMON_TOOLS_REPORT_FUNCTIONS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "tools/report/inputs.h"
#include "tools/report/options.h"

namespace allomon::report {

struct Function {
  const SourceName* name = nullptr;  // of the profile's program
  MlmonCount count;
};

// What `--sort` looks at; the current count for kName.
MlmonInt Measure(const MlmonCount& count, SortKey key);

// The position without its line.
std::string_view FileOf(const SourceName& name);

// Of so many rows, at `most` that many are shown; 0: all.
size_t ShownRows(size_t count, size_t most);

// The functions that used something, largest first by `key`; equal ones by their current
// count, then by name and position, so that a run of the command repeats.  Copies of a
// function that the optimizer made are one.  Refers to `profile`.
std::vector<Function> Functions(const Profile& profile, SortKey key);

// How many functions with a position used nothing.
size_t UnusedFunctions(const Profile& profile);

// The current counts of functions from the `first` on.
MlmonInt SumFrom(const std::vector<Function>& functions, size_t first);

// A function in two profiles; what one of them lacks is zeros there.
struct Change {
  const SourceName* name = nullptr;  // of the later program that has it
  MlmonCount before;
  MlmonCount after;
  bool in_before = false;
  bool in_after = false;

  // Of what `key` looks at; at the limits of the type it stays there.
  MlmonInt Growth(SortKey key) const;
};

// All functions that changed, the largest change first, whether growth or not; equal ones as
// above.  Functions of two builds are the same if they have the same name and the same file,
// and are equally many functions of that name behind the first: lines may move.
std::vector<Change> Changes(const Pair& pair, SortKey key);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FUNCTIONS_H_
