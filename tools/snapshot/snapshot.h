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
  kRetains = 1,  // keeps its target alive
  kIndexed = 2,  // has a number for a name
};

// Nodes and edges by their places in the file.  Node 0 is the root.  The edges of a node stand
// together.  28 bytes a node, 9 an edge.
struct Snapshot {
  std::vector<uint32_t> node_name;  // a string
  std::vector<uint64_t> node_id;    // as the file says
  std::vector<uint64_t> self_bytes;
  std::vector<uint32_t> first_edge;  // one more than there are nodes
  std::vector<uint32_t> node_class;  // which of `classes`
  std::vector<uint8_t> edge_flags;
  std::vector<uint32_t> edge_name;  // a string; or a number
  std::vector<uint32_t> edge_to;

  // What tables call a type: the name of an object, "(string)" for all strings of a program.
  std::vector<std::string> classes;
  // Whether nodes of the class stand for no memory of the program: the root, groups of roots.
  std::vector<bool> class_is_synthetic;

  std::string text;                    // of all strings, one behind the other
  std::vector<uint64_t> string_begin;  // one more than there are strings

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
