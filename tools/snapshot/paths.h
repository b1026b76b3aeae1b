// Finds a shortest path from the root to each object.
#ifndef ALLOMON_TOOLS_SNAPSHOT_PATHS_H_
#define ALLOMON_TOOLS_SNAPSHOT_PATHS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/snapshot/snapshot.h"

namespace allomon::snapshot {

// A tree of retaining edges that contains a shortest path from the root to each node.  Takes 12
// bytes per node.
struct ShortestPaths {
  std::vector<uint32_t> parent;     // by node; kNone for the root and for unreachable nodes
  std::vector<uint32_t> edge;       // by node: the edge from the parent
  std::vector<uint32_t> by_length;  // the reachable nodes, nearest first
};

ShortestPaths FindShortestPaths(const Snapshot& snapshot);

// Returns ".tail" or "[3]" for an edge.
std::string EdgeText(const Snapshot& snapshot, uint32_t edge);

// A kind of paths: the same members of the same classes.  Indices of arrays do not matter, nor how
// often a path returns to a class (as in a list or a tree).
struct PathGroup {
  uint32_t parent = kNone;  // a group; kNone for the root's
  uint32_t node_class = 0;
  uint32_t edge = kNone;  // an edge that leads here, for its name
  bool repeats = false;   // some paths reach the class more than once
  uint64_t objects = 0;
  uint64_t bytes = 0;
};

struct PathGroups {
  std::vector<PathGroup> groups;  // parents first
  std::vector<uint32_t> of_node;  // kNone: the node is unreachable
};

PathGroups GroupPaths(const Snapshot& snapshot, const ShortestPaths& paths);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_PATHS_H_
