#include <algorithm>

#include "tools/snapshot/views.h"

namespace allomon::snapshot {
namespace {

uint32_t FindClass(const Snapshot& snapshot, const std::string& name) {
  for (uint32_t c = 0; c < snapshot.classes.size(); ++c) {
    if (snapshot.classes[c] == name && !snapshot.class_is_synthetic[c]) return c;
  }
  return kNone;
}

std::string GroupEdge(const Snapshot& snapshot, uint32_t edge) {
  const bool indexed = (snapshot.edge_flags[edge] & kIndexed) != 0;
  return indexed ? "[]" : EdgeText(snapshot, edge);
}

// Prints a path, one step a line, from the objects to the root.
std::string GroupText(const Snapshot& snapshot, const PathGroups& all, const PathGroup& last,
                      const Style& style) {
  std::string text = Objects(last.objects) + ", " + BytesText(last.bytes) + "\n";
  if (last.repeats) text += "  through one another\n";
  for (const PathGroup* group = &last; group->parent != kNone;) {
    const PathGroup& parent = all.groups[group->parent];
    const std::string line = "  " + Shown(GroupEdge(snapshot, group->edge), style) + " of " +
                             Shown(snapshot.classes[parent.node_class], style) +
                             (parent.repeats ? ", one or more" : "");
    text += (style.width == 0 ? line : CutToBeginning(line, style.width, style.charset)) + "\n";
    if (snapshot.class_is_synthetic[parent.node_class]) break;
    group = &parent;
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> PathsText(const Snapshot& snapshot, const ShortestPaths& paths,
                                      const std::string& class_name, const Style& style) {
  const uint32_t wanted = FindClass(snapshot, class_name);
  if (wanted == kNone) {
    return absl::NotFoundError("no objects of type \"" + class_name +
                               "\"; allomon heap --top=0 shows the types");
  }
  const PathGroups all = GroupPaths(snapshot, paths);
  std::vector<const PathGroup*> groups;
  for (const PathGroup& group : all.groups) {
    if (group.node_class == wanted) groups.push_back(&group);
  }
  if (groups.empty()) return std::string("no root reaches them but by weak references\n");
  std::stable_sort(groups.begin(), groups.end(),
                   [](const PathGroup* a, const PathGroup* b) { return a->bytes > b->bytes; });
  const size_t rows = style.top == 0 ? groups.size() : std::min(style.top, groups.size());
  std::string text = "shortest ways from " + Shown(class_name, style) + " to a root, by kind\n";
  for (size_t i = 0; i < rows; ++i) text += "\n" + GroupText(snapshot, all, *groups[i], style);
  if (rows < groups.size()) {
    text += "\nand " + CountText(groups.size() - rows) + " more kinds; --top=0 shows all\n";
  }
  return text;
}

}  // namespace allomon::snapshot
