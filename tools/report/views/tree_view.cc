#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "tools/heap/heap_profile.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tools/text/names.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Direction;
using heap::Estimate;
using Tree = heap::Tree<Estimate>;
using Node = Tree::Node;

constexpr uint32_t kMostIndent = 40;  // deeper nodes are not indented further
constexpr size_t kMostData = 100000;  // rows for programs, unless --top is given

class TreeView {
 public:
  TreeView(const Scene& scene, Direction direction)
      : scene_(scene),
        direction_(direction),
        blocks_(scene.measure.blocks),
        folds_(scene.options->format == Format::kTable),
        tree_(heap::TreeOf(scene.stacks, scene.values, direction)) {
    FindChildren();
    ALLOMON_DCHECK("inv.report.part", heap::IsPartOf(tree_.nodes[0].total, scene.selected));
    ALLOMON_DCHECK("inv.report.part", ParentsHoldTheirChildren());
  }

  void Add(Report* report) {
    Table table;
    table.key = direction_ == Direction::kCallers ? "callers" : "tree";
    AddColumns(&table);
    FillTable(&table);
    table.left_out = left_out_;
    if (left_out_ > 0 && folds_) {
      report->foot.push_back(
          {MoreText(left_out_, "smaller node") + "; --top=N shows N", Paint::kDim});
    }
    report->tables.push_back(std::move(table));
  }

 private:
  double Value(const Estimate& estimate) const { return ValueOf(estimate.amount, blocks_); }
  double Total(uint32_t node) const { return Value(tree_.nodes[node].total); }

  // Fills the lists of children.  Leaves out nodes without an amount.
  void FindChildren() {
    begin_.assign(tree_.nodes.size() + 1, 0);
    for (uint32_t node = 1; node < tree_.nodes.size(); ++node) {
      if (Total(node) > 0) ++begin_[tree_.nodes[node].parent + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    children_.resize(begin_.back());
    std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
    for (uint32_t node = 1; node < tree_.nodes.size(); ++node) {
      if (Total(node) > 0) children_[next[tree_.nodes[node].parent]++] = node;
    }
  }

  bool ParentsHoldTheirChildren() const {
    for (uint32_t node = 1; node < tree_.nodes.size(); ++node) {
      const Node& parent = tree_.nodes[tree_.nodes[node].parent];
      if (!heap::IsPartOf(tree_.nodes[node].total, parent.total)) return false;
    }
    return true;
  }

  // Orders nodes by total.  Among equals the caller comes first, which has a smaller number than
  // its callees.
  bool IsLarger(uint32_t a, uint32_t b) const {
    return Total(a) != Total(b) ? Total(a) > Total(b) : a < b;
  }

  const std::string& NameOf(uint32_t node) const {
    return scene_.stacks.NameOf(tree_.nodes[node].frame).text;
  }

  uint32_t ChildrenOf(uint32_t node) const { return begin_[node + 1] - begin_[node]; }

  // True if the node shares a line with its only child.  A node that allocated has a line of its
  // own.  So has its direct caller in the view callers, because that is what the view is for.
  bool GoesOn(uint32_t node) const {
    if (!folds_ || node == 0 || ChildrenOf(node) != 1) return false;
    if (Value(tree_.nodes[node].self) != 0) return false;
    return direction_ == Direction::kCallees || tree_.nodes[node].depth > 1;
  }

  // Returns the last node of a line that begins with `node`.
  uint32_t LastOf(uint32_t node) const {
    while (GoesOn(node)) node = children_[begin_[node]];
    return node;
  }

  size_t MostRows() const {
    if (scene_.rows != 0) return scene_.rows;
    return scene_.options->top.has_value() || folds_ ? tree_.nodes.size() : kMostData;
  }

  // Chooses the lines with the largest totals.  A node's caller has no smaller total, and comes
  // first among equals, so it is chosen, too.
  std::vector<bool> Chosen() {
    std::vector<uint32_t> lines;
    std::vector<uint32_t> todo = {0};
    while (!todo.empty()) {
      const uint32_t node = todo.back();
      todo.pop_back();
      for (uint32_t i = begin_[node]; i < begin_[node + 1]; ++i) {
        lines.push_back(children_[i]);
        todo.push_back(LastOf(children_[i]));
      }
    }
    const size_t count = std::min(lines.size(), MostRows());
    left_out_ = lines.size() - count;
    const auto end = lines.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(lines.begin(), end, lines.end(),
                     [this](uint32_t a, uint32_t b) { return IsLarger(a, b); });
    std::vector<bool> chosen(tree_.nodes.size());
    for (size_t i = 0; i < count; ++i) chosen[lines[i]] = true;
    return chosen;
  }

  void FillTable(Table* table) {
    const std::vector<bool> chosen = Chosen();
    std::vector<std::pair<uint32_t, uint32_t>> todo;  // nodes and their indentation
    const auto push_children = [&](uint32_t node, uint32_t indent) {
      std::vector<uint32_t> shown;
      for (uint32_t i = begin_[node]; i < begin_[node + 1]; ++i) {
        if (chosen[children_[i]]) shown.push_back(children_[i]);
      }
      std::sort(shown.begin(), shown.end(), [this](uint32_t a, uint32_t b) {
        if (Total(a) != Total(b)) return Total(a) > Total(b);
        return NameOf(a) != NameOf(b) ? NameOf(a) < NameOf(b) : a < b;
      });
      for (size_t i = shown.size(); i-- > 0;) todo.emplace_back(shown[i], indent);
    };
    push_children(0, 0);
    while (!todo.empty()) {
      const auto [node, indent] = todo.back();
      todo.pop_back();
      const uint32_t last = LastOf(node);
      ALLOMON_DCHECK_LE("inv.heap.tree", node, last);
      table->rows.push_back(CellsOf(node, last, indent));
      push_children(last, indent + 1);
    }
  }

  AmountStyle TotalStyle() const {
    return {"total", heap::MetricName(scene_.measure.metric), "%", blocks_, scene_.HasIntervals(),
            kStays};
  }
  AmountStyle SelfStyle() const {
    const bool is_callers = direction_ == Direction::kCallers;
    return {"self", is_callers ? "" : "itself", "", blocks_, false, kDropTotal};
  }

  void AddColumns(Table* table) const {
    AddAmountColumns(TotalStyle(), table);
    AddAmountColumns(SelfStyle(), table);
    table->columns.push_back({"depth", ""});
    table->columns.push_back({"function", "function", Column::Kind::kTree, kStays});
    table->columns.push_back({"", "where", Column::Kind::kPath, kDropPlace});
    table->columns.push_back({"file", ""});
    table->columns.push_back({"line", ""});
  }

  // Returns "parse", or "handle ... parse" for a line of several nodes.
  std::string LineName(uint32_t node, uint32_t last) const {
    if (node == last) return NameOf(node);
    return report::ClassAndFunction(NameOf(node)) + " " + CutMark(scene_.charset) + " " +
           report::ClassAndFunction(NameOf(last));
  }

  std::vector<Cell> CellsOf(uint32_t node, uint32_t last, uint32_t indent) const {
    // For a line of several nodes, shows the one that is nearest to the allocation.
    const Node& shown = tree_.nodes[direction_ == Direction::kCallers ? node : last];
    const double whole = Value(scene_.whole);
    std::vector<Cell> cells;
    AddAmountCells(TotalStyle(), shown.total, whole, &cells);
    AddAmountCells(SelfStyle(), shown.self, whole, &cells);
    cells.push_back(DataCell(static_cast<double>(tree_.nodes[node].depth)));
    const std::string blanks(2 * static_cast<size_t>(std::min(indent, kMostIndent)), ' ');
    Cell name = TextCell(blanks + LineName(node, last),
                         heap::IsSure(shown.total) ? Paint::kPlain : Paint::kDim);
    name.data = NameOf(node);
    cells.push_back(name);
    cells.push_back(TextCell(PlaceOf(scene_.stacks, shown.frame), Paint::kDim));
    cells.push_back(DataCell(scene_.stacks.NameOf(shown.frame).file));
    cells.push_back(DataCell(static_cast<double>(scene_.stacks.frames[shown.frame].line)));
    return cells;
  }

  const Scene& scene_;
  const Direction direction_;
  const bool blocks_;
  const bool folds_;
  const Tree tree_;
  std::vector<uint32_t> begin_;  // by node: its first index in children_
  std::vector<uint32_t> children_;
  size_t left_out_ = 0;
};

}  // namespace

void AddTree(const Scene& scene, heap::Direction direction, Report* report) {
  TreeView(scene, direction).Add(report);
}

}  // namespace allomon::views
