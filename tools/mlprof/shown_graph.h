#ifndef TOOLS_MLPROF_SHOWN_GRAPH_H_
#define TOOLS_MLPROF_SHOWN_GRAPH_H_

#include <cstdint>
#include <vector>

#include "tools/mlprof/selection.h"

namespace allomon::mlprof {

struct ShownEdge {
  int32_t to;   // an index into Selection::functions
  bool dashed;  // a path through hidden functions
};

// The edges that leave each shown function, each target once, in the order in
// which mlprof writes them.
std::vector<std::vector<ShownEdge>> ShownEdges(const ProfileView& view,
                                               const Selection& selection);

}  // namespace allomon::mlprof

#endif  // TOOLS_MLPROF_SHOWN_GRAPH_H_
