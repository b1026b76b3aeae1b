// Who keeps whom alive: dominators and retained sizes.
#ifndef ALLOMON_TOOLS_SNAPSHOT_DOMINATORS_H_
#define ALLOMON_TOOLS_SNAPSHOT_DOMINATORS_H_

#include <cstdint>
#include <vector>

#include "tools/snapshot/snapshot.h"

namespace allomon::snapshot {

// By node.  What no path of retaining edges reaches from the root is retained by nothing: its
// dominator is kNone, its retained size 0.
struct Dominators {
  std::vector<uint32_t> dominator;       // the nearest one; kNone of the root
  std::vector<uint64_t> retained_bytes;  // what would die with the node, itself included
  std::vector<uint32_t> preorder;        // the nodes that are reached, dominators first

  bool IsReached(uint32_t node) const { return node == 0 || dominator[node] != kNone; }
};

// Lengauer's and Tarjan's algorithm with path compression alone, O(m log n): no graph makes it
// quadratic, as chains of many million objects would others.  Needs 40 bytes a node and 4 an edge
// meanwhile, and leaves 16 a node.  Recurses nowhere.
Dominators FindDominators(const Snapshot& snapshot);

// By class: the bytes of its nodes and all that they dominate, each byte once.
std::vector<uint64_t> RetainedByClass(const Snapshot& snapshot, const Dominators& dominators);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_DOMINATORS_H_
