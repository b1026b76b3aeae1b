// Formats texts about a snapshot, for a terminal.
#ifndef ALLOMON_TOOLS_SNAPSHOT_VIEWS_H_
#define ALLOMON_TOOLS_SNAPSHOT_VIEWS_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/snapshot/dominators.h"
#include "tools/snapshot/paths.h"
#include "tools/snapshot/snapshot.h"
#include "tools/text/plain_text.h"

namespace allomon::snapshot {

struct Style {
  size_t top = 15;  // rows of a table; 0: all
  int width = 80;   // columns; 0: as many as needed
  Charset charset = Charset::kUtf8;
};

// Lists live and retained bytes by class, and the objects with the largest retained sizes.
std::string SummaryText(const Snapshot& snapshot, const Dominators& dominators,
                        const ShortestPaths& paths, const Style& style);

// Lists the kinds of shortest paths to the objects of a class.  Fails if no object is of the class.
absl::StatusOr<std::string> PathsText(const Snapshot& snapshot, const ShortestPaths& paths,
                                      const std::string& class_name, const Style& style);

// Describes one object.  Fails if no object has this id.
absl::StatusOr<std::string> ObjectText(const Snapshot& snapshot, const Dominators& dominators,
                                       const ShortestPaths& paths, uint64_t id, const Style& style);

// Lists the changes by class.  Ignores the edges of the snapshots.
std::string DiffText(const Snapshot& before, const Snapshot& after, const Style& style);

// --- Helpers of the functions above.

std::string BytesText(uint64_t bytes);
std::string CountText(uint64_t count);
std::string PercentText(uint64_t part, uint64_t whole);
std::string Shown(std::string_view text, const Style& style);
// Returns a name like "Cell @123".
std::string ObjectName(const Snapshot& snapshot, uint32_t node, const Style& style);
// Returns "1 object", "2 objects".
std::string Objects(uint64_t count);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_VIEWS_H_
