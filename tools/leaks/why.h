// Tells what keeps blocks alive: a shortest path of references from a root to each.
#ifndef ALLOMON_TOOLS_LEAKS_WHY_H_
#define ALLOMON_TOOLS_LEAKS_WHY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/interval.h"
#include "tools/heap/stacks.h"
#include "tools/leaks/search.h"
#include "tools/symbols/name_sources.h"

namespace allomon::leaks {

// One step of a path, from the root on: a thing, and where in it the next reference lies.  Equal
// things that follow each other, as in a list, are one step.
struct Step {
  std::string text;
  // The key under which a dict of Python refers to the next thing, if it is a short text of ASCII;
  // or the name of the attribute by which an object does.
  std::string key;
  bool is_attribute = false;
  // In the paths of a reason's blocks.
  uint64_t least_offset_bytes = 0;
  uint64_t most_offset_bytes = 0;
  size_t least_times = 1;
  size_t most_times = 1;
  bool has_keys = false;  // several, and `key` is empty
};

// Blocks with paths of the same steps.
struct Reason {
  std::string block;        // its function, and where that is
  std::vector<Step> steps;  // the first one is the root; empty: nothing refers to the blocks
  heap::Estimate amount;
  size_t sampled = 0;
};

// Returns the reasons of the sampled blocks with a stack that the selection keeps, those of most
// bytes first.  Call after search->Mark(true).  Fails with one line.
absl::StatusOr<std::vector<Reason>> FindReasons(Search* search, const heap::Selection& selection,
                                                const NameSources& name_sources);

// Returns the text for people.  `top` reasons are shown.
std::string ReasonsText(const std::vector<Reason>& reasons, size_t top);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_WHY_H_
