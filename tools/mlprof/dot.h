#ifndef ALLOMON_TOOLS_MLPROF_DOT_H_
#define ALLOMON_TOOLS_MLPROF_DOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/mlprof/profile_view.h"

namespace allomon::mlprof {

struct DotStyle {
  std::string title;
  bool gray = false;  // the larger a node's share of the stack column, the darker it is
  bool raw = false;
  bool show_line = false;
};

// Writes the call graph of the selection in Graphviz's language, without a final newline.  Each
// shown function is a node.  Each call between two shown functions is an edge.  A path of several
// calls that leads from one shown function to another through hidden ones is a dashed edge, which
// replaces the direct edge if there is one.
//
// Fails under `gray` for a function with a stack percentage that does not round to 0..100, and when
// there are more than kMaxDashedEdges.  `error` is then one line.
//
// The cost is linear in the graph if few functions are shown or few are hidden.  At worst it is the
// number of shown functions times the number of calls of hidden ones.
bool FormatDot(const ProfileView& view, const Selection& selection, const DotStyle& style,
               std::string* dot, std::string* error);

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

#endif  // ALLOMON_TOOLS_MLPROF_DOT_H_
