// The views of call trees: from the program's start towards callees, or from allocating functions
// towards callers.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_TREE_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_TREE_VIEW_H_

#include "tools/heap/rows.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "tree" or "callers".  If it has too many nodes, the largest are shown.  For
// people, nodes in a chain that have one caller and one callee each, and no own amount, share a
// line.
void AddTree(const Scene& scene, heap::Direction direction, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_TREE_VIEW_H_
