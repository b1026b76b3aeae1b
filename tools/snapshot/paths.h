// The shortest ways from the root to each object.
#ifndef ALLOMON_TOOLS_SNAPSHOT_PATHS_H_
#define ALLOMON_TOOLS_SNAPSHOT_PATHS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/snapshot/snapshot.h"

namespace allomon::snapshot {

// A tree of retaining edges with the root's shortest way to each node.  12 bytes a node.
struct ShortestPaths {
  std::vector<uint32_t> parent;     // by node; kNone of the root and of what is not reached
  std::vector<uint32_t> edge;       // by node: the edge from the parent
  std::vector<uint32_t> by_length;  // the nodes that are reached, nearest first
};

ShortestPaths FindShortestPaths(const Snapshot& snapshot);

// ".tail", "[3]" of an edge.
std::string EdgeText(const Snapshot& snapshot, uint32_t edge);

// Ways of one kind: the same members of the same classes, whatever the numbers in arrays, and
// however often a way comes by a class again (a list, a tree).
struct PathGroup {
  uint32_t parent = kNone;  // a group; kNone: the root's
  uint32_t node_class = 0;
  uint32_t edge = kNone;  // one that leads here, for its name
  bool repeats = false;   // some ways come by the class more than once
  uint64_t objects = 0;
  uint64_t bytes = 0;
};

struct PathGroups {
  std::vector<PathGroup> groups;  // parents first
  std::vector<uint32_t> of_node;  // kNone: not reached
};

PathGroups GroupPaths(const Snapshot& snapshot, const ShortestPaths& paths);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_PATHS_H_
