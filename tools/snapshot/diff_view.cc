#include <algorithm>
#include <map>

#include "tools/snapshot/views.h"
#include "tools/text/amounts.h"
#include "tools/text/grid.h"

namespace allomon::snapshot {
namespace {

using report::Column;
using report::Grid;

struct Row {
  std::string name;
  int64_t objects[2] = {0, 0};  // before, after
  int64_t bytes[2] = {0, 0};

  int64_t more_objects() const { return objects[1] - objects[0]; }
  int64_t more_bytes() const { return bytes[1] - bytes[0]; }
};

// Whether a class is the root, or a group of roots: in Allomon's snapshots these are objects
// without bytes, which the reader tells from others by their edges alone.
bool IsOfRoots(const Snapshot& snapshot, size_t its_class, int64_t bytes) {
  return snapshot.class_is_synthetic[its_class] ||
         (bytes == 0 && snapshot.classes[its_class].compare(0, 1, "(") == 0);
}

void Add(const Snapshot& snapshot, int side, std::map<std::string, Row>* rows) {
  std::vector<Row> by_class(snapshot.classes.size());
  for (uint32_t n = 0; n < snapshot.n_nodes(); ++n) {
    Row& row = by_class[snapshot.node_class[n]];
    ++row.objects[side];
    row.bytes[side] += static_cast<int64_t>(snapshot.self_bytes[n]);
  }
  for (size_t c = 0; c < by_class.size(); ++c) {
    if (IsOfRoots(snapshot, c, by_class[c].bytes[side])) continue;
    Row& row = (*rows)[snapshot.classes[c]];
    row.objects[side] = by_class[c].objects[side];
    row.bytes[side] = by_class[c].bytes[side];
  }
}

std::string Growth(int64_t value, bool bytes) {
  if (bytes) return report::SignedAmount(ProfileKind::kAlloc, value);
  return (value > 0 ? "+" : "") + report::Exact(value);
}

std::vector<report::Cell> Cells(const Row& row, const std::string& name) {
  return {{name},
          {report::Exact(row.objects[1])},
          {Growth(row.more_objects(), false)},
          {BytesText(static_cast<uint64_t>(row.bytes[1]))},
          {Growth(row.more_bytes(), true)}};
}

}  // namespace

std::string DiffText(const Snapshot& before, const Snapshot& after, const Style& style) {
  std::map<std::string, Row> by_name;
  Add(before, 0, &by_name);
  Add(after, 1, &by_name);
  Row all;
  std::vector<Row> rows;
  for (auto& [name, row] : by_name) {
    row.name = name;
    for (int side : {0, 1}) {
      all.objects[side] += row.objects[side];
      all.bytes[side] += row.bytes[side];
    }
    if (row.more_objects() != 0 || row.more_bytes() != 0) rows.push_back(row);
  }
  if (rows.empty()) return "no change\n";
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::abs(a.more_bytes()) > std::abs(b.more_bytes());
  });
  Grid grid;
  grid.columns = {
      {"type", Column::Kind::kText, 0, 16}, {"objects"}, {"growth"}, {"bytes"}, {"growth"}};
  const size_t shown = style.top == 0 ? rows.size() : std::min(style.top, rows.size());
  for (size_t i = 0; i < shown; ++i) {
    grid.rows.push_back(Cells(rows[i], Shown(rows[i].name, style)));
  }
  grid.rows.push_back(Cells(all, "(all)"));
  std::string text = FormatGrid(std::move(grid), style.width, style.charset, false);
  if (shown < rows.size()) {
    text += "and " + CountText(rows.size() - shown) + " more types; --top=0 shows all\n";
  }
  return text;
}

}  // namespace allomon::snapshot
