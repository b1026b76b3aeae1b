// Reads heap snapshots in the format of Chrome DevTools: those of Heap::WriteSnapshot(), of Chrome
// and of Node.js.
#ifndef ALLOMON_TOOLS_SNAPSHOT_READ_SNAPSHOT_H_
#define ALLOMON_TOOLS_SNAPSHOT_READ_SNAPSHOT_H_

#include <string>

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

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_READ_SNAPSHOT_H_
