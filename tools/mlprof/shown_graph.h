#ifndef ALLOMON_TOOLS_MLPROF_SHOWN_GRAPH_H_
#define ALLOMON_TOOLS_MLPROF_SHOWN_GRAPH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/mlprof/selection.h"

namespace allomon::mlprof {

struct ShownEdge {
  uint32_t to;  // an index into Selection::functions
  bool dashed;  // stands for a path through hidden functions
};

using ShownEdges = std::vector<std::vector<ShownEdge>>;

// Limits the work: half of a large program hidden at random can leave a dashed edge between any two
// of the other functions.  Nobody looks at a million edges, and making more would take minutes and
// gigabytes.
inline constexpr size_t kMaxDashedEdges = 1000000;

// Returns the edges that leave each shown function, in the order in which mlprof writes them, with
// each target once.  nullopt if there are more than kMaxDashedEdges.
std::optional<ShownEdges> FindShownEdges(const ProfileView& view, const Selection& selection);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_SHOWN_GRAPH_H_
