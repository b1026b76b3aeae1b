// A heap snapshot as a graph.
#ifndef ALLOMON_TOOLS_SNAPSHOT_SNAPSHOT_H_
#define ALLOMON_TOOLS_SNAPSHOT_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allomon::snapshot {

inline constexpr uint32_t kNone = UINT32_MAX;

enum EdgeFlags : uint8_t {
  kRetains = 1,  // the edge keeps its target alive
  kIndexed = 2,  // the edge has a number instead of a name
};

// Nodes and edges are numbered as in the file.  Node 0 is the root.  The edges of a node are
// contiguous.  Takes 28 bytes per node and 9 per edge.
struct Snapshot {
  std::vector<uint32_t> node_name;  // number of a string
  std::vector<uint64_t> node_id;    // as in the file
  std::vector<uint64_t> self_bytes;
  std::vector<uint32_t> first_edge;  // one more than nodes
  std::vector<uint32_t> node_class;  // index in `classes`
  std::vector<uint8_t> edge_flags;
  std::vector<uint32_t> edge_name;  // number of a string, or an index
  std::vector<uint32_t> edge_to;

  // Names of classes in tables: the name of an object, or "(string)" for all strings of a program.
  std::vector<std::string> classes;
  // True for classes whose nodes are no memory of the program: the root, and groups of roots.
  std::vector<bool> class_is_synthetic;

  std::string text;                    // all strings, concatenated
  std::vector<uint64_t> string_begin;  // one more than strings

  uint32_t n_nodes() const { return static_cast<uint32_t>(node_id.size()); }
  uint32_t n_edges() const { return static_cast<uint32_t>(edge_flags.size()); }
  std::string_view String(uint32_t string) const {
    return std::string_view(text).substr(string_begin[string],
                                         string_begin[string + 1] - string_begin[string]);
  }
  const std::string& ClassOf(uint32_t node) const { return classes[node_class[node]]; }
  bool IsSynthetic(uint32_t node) const { return class_is_synthetic[node_class[node]]; }
};

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_SNAPSHOT_H_
