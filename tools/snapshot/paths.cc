#include "tools/snapshot/paths.h"

#include <unordered_map>

namespace allomon::snapshot {
namespace {

// Limits the search among the groups above a new one.  Longer paths of different classes are not
// folded.
constexpr int kMostFoldedSteps = 64;

class Grouping {
 public:
  explicit Grouping(const Snapshot& snapshot) : snapshot_(snapshot) {}

  void Add(uint32_t node, uint32_t parent, uint32_t edge) {
    const uint32_t node_class = snapshot_.node_class[node];
    const uint32_t above = parent == kNone ? kNone : result_.of_node[parent];
    uint32_t group = Recurring(above, node_class);
    if (group != kNone) {
      result_.groups[group].repeats = true;
    } else {
      group = Child(above, node_class, edge);
    }
    result_.of_node[node] = group;
    ++result_.groups[group].objects;
    result_.groups[group].bytes += snapshot_.self_bytes[node];
  }

  PathGroups& result() { return result_; }

 private:
  // Returns the group of this class on the path; kNone if the path has no such group.
  uint32_t Recurring(uint32_t group, uint32_t node_class) const {
    for (int i = 0; group != kNone && i < kMostFoldedSteps; ++i) {
      const PathGroup& one = result_.groups[group];
      if (one.node_class == node_class && !snapshot_.class_is_synthetic[node_class]) return group;
      group = one.parent;
    }
    return kNone;
  }

  uint32_t LabelOf(uint32_t edge) const {
    if (edge == kNone || (snapshot_.edge_flags[edge] & kIndexed) != 0) return kNone;
    return snapshot_.edge_name[edge];
  }

  uint32_t Child(uint32_t above, uint32_t node_class, uint32_t edge) {
    const Key key = {above, node_class, LabelOf(edge)};
    const auto [found, is_new] = children_.try_emplace(key, 0);
    if (!is_new) return found->second;
    found->second = static_cast<uint32_t>(result_.groups.size());
    PathGroup group;
    group.parent = above;
    group.node_class = node_class;
    group.edge = edge;
    result_.groups.push_back(group);
    return found->second;
  }

  struct Key {
    uint32_t parent, node_class, label;
    bool operator==(const Key& other) const {
      return parent == other.parent && node_class == other.node_class && label == other.label;
    }
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      uint64_t hash = key.parent;
      for (const uint64_t part : {key.node_class, key.label}) {
        hash = (hash ^ part) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
      }
      return hash;
    }
  };

  const Snapshot& snapshot_;
  std::unordered_map<Key, uint32_t, Hash> children_;
  PathGroups result_{{}, std::vector<uint32_t>(snapshot_.n_nodes(), kNone)};
};

}  // namespace

ShortestPaths FindShortestPaths(const Snapshot& snapshot) {
  ShortestPaths paths;
  paths.parent.assign(snapshot.n_nodes(), kNone);
  paths.edge.assign(snapshot.n_nodes(), kNone);
  paths.by_length.assign(1, 0);
  for (size_t i = 0; i < paths.by_length.size(); ++i) {
    const uint32_t node = paths.by_length[i];
    for (uint32_t e = snapshot.first_edge[node]; e < snapshot.first_edge[node + 1]; ++e) {
      const uint32_t to = snapshot.edge_to[e];
      if ((snapshot.edge_flags[e] & kRetains) == 0 || to == 0 || paths.edge[to] != kNone) continue;
      paths.parent[to] = node;
      paths.edge[to] = e;
      paths.by_length.push_back(to);
    }
  }
  return paths;
}

std::string EdgeText(const Snapshot& snapshot, uint32_t edge) {
  const uint32_t name = snapshot.edge_name[edge];
  if ((snapshot.edge_flags[edge] & kIndexed) != 0) return "[" + std::to_string(name) + "]";
  return "." + std::string(snapshot.String(name));
}

PathGroups GroupPaths(const Snapshot& snapshot, const ShortestPaths& paths) {
  Grouping grouping(snapshot);
  for (const uint32_t node : paths.by_length) {
    grouping.Add(node, paths.parent[node], paths.edge[node]);
  }
  return std::move(grouping.result());
}

}  // namespace allomon::snapshot
