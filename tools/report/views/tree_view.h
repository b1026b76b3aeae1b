// Call trees: from what starts the program down, or from what allocated outwards.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_TREE_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_TREE_VIEW_H_

#include "tools/heap/rows.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "tree" or "callers".  Of many nodes the largest are shown.  For people, nodes in a
// row that have one caller and one callee each, and nothing themselves, share a line.
void AddTree(const Scene& scene, heap::Direction direction, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_TREE_VIEW_H_
