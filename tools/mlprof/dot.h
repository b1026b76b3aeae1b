#ifndef ALLOMON_TOOLS_MLPROF_DOT_H_
#define ALLOMON_TOOLS_MLPROF_DOT_H_

#include <string>

#include "tools/mlprof/selection.h"

namespace allomon::mlprof {

struct DotStyle {
  std::string title;
  bool gray = false;  // the more of the stack column, the darker
  bool raw = false;
  bool show_line = false;
};

// The call graph of the selection in Graphviz's language, without a final
// newline: a node for each shown function, an edge for each call between two of
// them, and a dashed one where a path of several calls leads from one to the
// other through functions that are not shown, in place of the direct one if
// there is one.
//
// Fails under `gray` for a function with a stack percentage that does not round
// to 0..100, and when there are more than kMaxDashedEdges, with one line in
// `error`.
//
// Linear in the graph, if few functions are shown or few are hidden; at worst,
// shown functions times calls of hidden ones.
bool FormatDot(const ProfileView& view, const Selection& selection, const DotStyle& style,
               std::string* dot, std::string* error);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_DOT_H_
