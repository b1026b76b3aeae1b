#include <algorithm>

#include "tools/snapshot/views.h"
#include "tools/text/grid.h"

namespace allomon::snapshot {
namespace {

using report::Column;
using report::Grid;

constexpr int kLeastName = 16;
// Shows only the first steps of a run of like ones.
constexpr size_t kMostAlike = 2;

class ObjectView {
 public:
  ObjectView(const Snapshot& snapshot, const Dominators& dominators, const ShortestPaths& paths,
             uint32_t node, const Style& style)
      : snapshot_(snapshot), dominators_(dominators), paths_(paths), node_(node), style_(style) {}

  std::string Text() const {
    std::string text = Name(node_) + ", " + BytesText(snapshot_.self_bytes[node_]);
    if (!dominators_.IsReached(node_)) {
      return text + "\nno root reaches it but by weak references\n" + Referrers() + References();
    }
    text += ", keeps " + BytesText(dominators_.retained_bytes[node_]) + " alive\n";
    const uint32_t dominator = dominators_.dominator[node_];
    if (dominator != kNone && !snapshot_.IsSynthetic(dominator)) {
      text += Line("all ways to it lead through " + Name(dominator));
    }
    return text + Way() + Referrers() + References() + Dominated();
  }

 private:
  std::string Name(uint32_t node) const { return ObjectName(snapshot_, node, style_); }

  std::string Line(const std::string& text) const {
    return (style_.width == 0 ? text : CutToBeginning(text, style_.width, style_.charset)) + "\n";
  }

  // True if the steps to two nodes have the same name and start from nodes of one class.
  bool Alike(uint32_t a, uint32_t b) const {
    const uint32_t edge_a = paths_.edge[a];
    const uint32_t edge_b = paths_.edge[b];
    const bool indexed = (snapshot_.edge_flags[edge_a] & kIndexed) != 0;
    return snapshot_.node_class[paths_.parent[a]] == snapshot_.node_class[paths_.parent[b]] &&
           snapshot_.edge_flags[edge_a] == snapshot_.edge_flags[edge_b] &&
           (indexed || snapshot_.edge_name[edge_a] == snapshot_.edge_name[edge_b]);
  }

  std::string Step(uint32_t node) const {
    return Line("  " + Shown(EdgeText(snapshot_, paths_.edge[node]), style_) + " of " +
                Name(paths_.parent[node]));
  }

  std::string Way() const {
    std::string text = "\nshortest way, from it to a root\n";
    uint32_t node = node_;
    while (paths_.edge[node] != kNone && !snapshot_.IsSynthetic(node)) {
      const uint32_t first = node;
      size_t run = 0;
      for (; paths_.edge[node] != kNone && Alike(first, node); node = paths_.parent[node], ++run) {
        if (run < kMostAlike) text += Step(node);
        if (snapshot_.IsSynthetic(paths_.parent[node])) {
          ++run, node = paths_.parent[node];
          break;
        }
      }
      if (run > kMostAlike) text += "  " + CountText(run - kMostAlike) + " more such steps\n";
    }
    return text;
  }

  // Prints the shown rows, and how many more exist.
  std::string Table(const char* title, Grid grid, size_t count) const {
    if (count == 0) return "";
    const size_t more = count - grid.rows.size();
    return std::string("\n") + title + "\n" +
           FormatGrid(std::move(grid), style_.width, style_.charset, false) +
           (more == 0 ? "" : "and " + CountText(more) + " more; --top=0 shows all\n");
  }

  bool HasRoom(const Grid& grid) const { return style_.top == 0 || grid.rows.size() < style_.top; }

  std::string EdgeName(uint32_t edge) const {
    const bool retains = (snapshot_.edge_flags[edge] & kRetains) != 0;
    return Shown(EdgeText(snapshot_, edge), style_) + (retains ? "" : " (weak)");
  }

  std::string Referrers() const {
    Grid grid;
    grid.columns = {{"member", Column::Kind::kText, 0, kLeastName},
                    {"of", Column::Kind::kText, 0, kLeastName}};
    size_t count = 0;
    for (uint32_t n = 0; n < snapshot_.n_nodes(); ++n) {
      for (uint32_t e = snapshot_.first_edge[n]; e < snapshot_.first_edge[n + 1]; ++e) {
        if (snapshot_.edge_to[e] != node_) continue;
        ++count;
        if (HasRoom(grid)) grid.rows.push_back({{EdgeName(e)}, {Name(n)}});
      }
    }
    return Table("referred to by", std::move(grid), count);
  }

  std::string References() const {
    std::vector<uint32_t> edges;
    for (uint32_t e = snapshot_.first_edge[node_]; e < snapshot_.first_edge[node_ + 1]; ++e) {
      edges.push_back(e);
    }
    std::stable_sort(edges.begin(), edges.end(), [this](uint32_t a, uint32_t b) {
      return Retained(snapshot_.edge_to[a]) > Retained(snapshot_.edge_to[b]);
    });
    Grid grid;
    grid.columns = {{"member", Column::Kind::kText, 0, kLeastName},
                    {"object", Column::Kind::kText, 0, kLeastName},
                    {"own"},
                    {"keeps alive"}};
    for (const uint32_t edge : edges) {
      if (!HasRoom(grid)) break;
      const uint32_t to = snapshot_.edge_to[edge];
      grid.rows.push_back({{EdgeName(edge)},
                           {Name(to)},
                           {BytesText(snapshot_.self_bytes[to])},
                           {BytesText(Retained(to))}});
    }
    return Table("refers to", std::move(grid), edges.size());
  }

  uint64_t Retained(uint32_t node) const { return dominators_.retained_bytes[node]; }

  std::string Dominated() const {
    std::vector<uint32_t> nodes;
    for (uint32_t n = 0; n < snapshot_.n_nodes(); ++n) {
      if (dominators_.dominator[n] == node_) nodes.push_back(n);
    }
    std::stable_sort(nodes.begin(), nodes.end(),
                     [this](uint32_t a, uint32_t b) { return Retained(a) > Retained(b); });
    Grid grid;
    grid.columns = {{"keeps alive"}, {"own"}, {"object", Column::Kind::kText, 0, kLeastName}};
    for (const uint32_t node : nodes) {
      if (!HasRoom(grid)) break;
      grid.rows.push_back(
          {{BytesText(Retained(node))}, {BytesText(snapshot_.self_bytes[node])}, {Name(node)}});
    }
    return Table("keeps alive by itself", std::move(grid), nodes.size());
  }

  const Snapshot& snapshot_;
  const Dominators& dominators_;
  const ShortestPaths& paths_;
  const uint32_t node_;
  const Style& style_;
};

}  // namespace

absl::StatusOr<std::string> ObjectText(const Snapshot& snapshot, const Dominators& dominators,
                                       const ShortestPaths& paths, uint64_t id,
                                       const Style& style) {
  const auto found = std::find(snapshot.node_id.begin(), snapshot.node_id.end(), id);
  if (found == snapshot.node_id.end()) {
    return absl::NotFoundError("no object @" + std::to_string(id) +
                               "; the tables show numbers of objects behind an @");
  }
  const auto node = static_cast<uint32_t>(found - snapshot.node_id.begin());
  return ObjectView(snapshot, dominators, paths, node, style).Text();
}

}  // namespace allomon::snapshot
