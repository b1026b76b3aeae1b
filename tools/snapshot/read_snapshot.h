// Reads heap snapshots in the format of Chrome DevTools: those of Heap::WriteSnapshot(), of Chrome
// and of Node.js.
#ifndef ALLOMON_TOOLS_SNAPSHOT_READ_SNAPSHOT_H_
#define ALLOMON_TOOLS_SNAPSHOT_READ_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/snapshot/json_scanner.h"
#include "tools/snapshot/snapshot.h"

namespace allomon::snapshot {

struct ReadOptions {
  bool edges = true;        // false: edges are checked but not kept
  uint64_t size_bytes = 0;  // size of the file; 0: unknown
};

// All numbers in the result are within bounds: nodes, edges, strings.  Other input fails with one
// line, without the file's name.
absl::StatusOr<Snapshot> ReadSnapshot(JsonScanner* scanner, const ReadOptions& options);

// Does the same for a file; "-" is standard input.  An error line names the file.
absl::StatusOr<Snapshot> ReadSnapshotFile(const std::string& path, const ReadOptions& options,
                                          const JsonScanner::Progress& progress);

// ---- Parses the head of a heap snapshot: the fields of a node and of an edge, and the numbers of
// both.

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

#endif  // ALLOMON_TOOLS_SNAPSHOT_READ_SNAPSHOT_H_
