// Parses the head of a heap snapshot: the fields of a node and of an edge, and the numbers of both.
#ifndef ALLOMON_TOOLS_SNAPSHOT_META_H_
#define ALLOMON_TOOLS_SNAPSHOT_META_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::snapshot {

struct Meta {
  struct Node {
    size_t fields = 0;
    size_t type, name, id, self_size, edge_count;  // indices among the fields
    std::vector<std::string> types;
  } node;
  struct Edge {
    size_t fields = 0;
    size_t type, name_or_index, to_node;
    std::vector<std::string> types;
  } edge;
  uint64_t node_count = 0;
  uint64_t edge_count = 0;
};

// Parses the JSON text of the value "snapshot".
absl::StatusOr<Meta> ParseMeta(const std::string& json);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_META_H_
