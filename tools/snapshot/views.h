// Texts about a snapshot, for a terminal.
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

// What is live and retained by class, and the objects that dominate most.
std::string SummaryText(const Snapshot& snapshot, const Dominators& dominators,
                        const ShortestPaths& paths, const Style& style);

// The kinds of shortest ways to the objects of a class.  Fails if there is none of the class.
absl::StatusOr<std::string> PathsText(const Snapshot& snapshot, const ShortestPaths& paths,
                                      const std::string& class_name, const Style& style);

// One object.  Fails if there is none of this id.
absl::StatusOr<std::string> ObjectText(const Snapshot& snapshot, const Dominators& dominators,
                                       const ShortestPaths& paths, uint64_t id, const Style& style);

// What has changed by class.  The edges of the snapshots are not looked at.
std::string DiffText(const Snapshot& before, const Snapshot& after, const Style& style);

// --- For these.

std::string BytesText(uint64_t bytes);
std::string CountText(uint64_t count);
std::string PercentText(uint64_t part, uint64_t whole);
std::string Shown(std::string_view text, const Style& style);
// "Cell @123".
std::string ObjectName(const Snapshot& snapshot, uint32_t node, const Style& style);
// "1 object", "2 objects".
std::string Objects(uint64_t count);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_VIEWS_H_
