#include <algorithm>
#include <tuple>

#include "tools/heap/heap_profile.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;
using Row = heap::Row<Estimate>;

constexpr size_t kStackLines = 12;

class FunctionsView {
 public:
  FunctionsView(const Scene& scene, heap::RowKey key)
      : scene_(scene), by_line_(key == heap::RowKey::kLine), blocks_(scene.measure.blocks) {
    rows_ = heap::RowsOf(scene.stacks, scene.values, key,
                         [this](const Estimate& estimate) { return Value(estimate); });
    ALLOMON_DCHECK("inv.heap.sum", RowsAddUp());
    rows_.erase(std::remove_if(rows_.begin(), rows_.end(),
                               [this](const Row& row) { return Value(row.total) == 0; }),
                rows_.end());
    Sort();
    if (scene.options->format == Format::kTable &&
        scene.options->sort.value_or(SortKey::kSelf) == SortKey::kSelf) {
      LeaveOutCallers();
    }
  }

  void Add(Report* report) {
    Table table;
    table.key = by_line_ ? "lines" : "functions";
    AddColumns(&table);
    const size_t shown = scene_.rows == 0 ? rows_.size() : std::min(rows_.size(), scene_.rows);
    for (size_t i = 0; i < shown; ++i) table.rows.push_back(CellsOf(rows_[i]));
    if (shown < rows_.size()) {
      table.AddRest(Rest(shown, table.columns.size()), rows_.size() - shown);
    }
    report->tables.push_back(std::move(table));
    if (!rows_.empty()) AddBestStack(rows_.front(), &report->foot);
    if (callers_ > 0) {
      const std::string what = by_line_ ? "line" : "function";
      report->foot.push_back(
          {MoreText(callers_, what) + " only called others: --sort=stack shows them", Paint::kDim});
    }
  }

 private:
  double Value(const Estimate& estimate) const { return ValueOf(estimate.amount, blocks_); }

  // Each block is charged to one row, whose callers' totals have it, too.
  bool RowsAddUp() const {
    heap::SumCheck sum;
    for (const Row& row : rows_) {
      sum.Add(row.self.amount);
      if (!heap::IsPartOf(row.self, row.total)) return false;
    }
    return sum.Is(scene_.selected.amount);
  }

  // Removes the rows without own amounts, which come last when rows are sorted by these.
  void LeaveOutCallers() {
    const size_t all = rows_.size();
    while (!rows_.empty() && Value(rows_.back().self) == 0) rows_.pop_back();
    callers_ = all - rows_.size();
  }

  auto NameOrder(const Row& row) const {
    const heap::Name& name = scene_.stacks.NameOf(row.frame);
    return std::tie(name.text, name.file, scene_.stacks.frames[row.frame].line);
  }

  void Sort() {
    const SortKey key = scene_.options->sort.value_or(SortKey::kSelf);
    std::sort(rows_.begin(), rows_.end(), [this, key](const Row& a, const Row& b) {
      if (key != SortKey::kName) {
        const bool by_total = key == SortKey::kTotal;
        const double first_a = Value(by_total ? a.total : a.self);
        const double first_b = Value(by_total ? b.total : b.self);
        if (first_a != first_b) return first_a > first_b;
        const double second_a = Value(by_total ? a.self : a.total);
        const double second_b = Value(by_total ? b.self : b.total);
        if (second_a != second_b) return second_a > second_b;
      }
      return NameOrder(a) < NameOrder(b);
    });
  }

  AmountStyle SelfStyle() const {
    return {"self", heap::MetricName(scene_.measure.metric), "%", blocks_, scene_.HasIntervals(),
            kStays};
  }
  AmountStyle TotalStyle() const {
    return {"total", "with callees", "total %", blocks_, false, kDropTotal};
  }

  void AddColumns(Table* table) const {
    AddNameColumns(table);
    AddAmountColumns(SelfStyle(), table);
    AddAmountColumns(TotalStyle(), table);
    table->columns.push_back({"", "", Column::Kind::kBar, kDropBar});
  }

  Cell BarOf(const Row& row) const {
    const double whole = Value(scene_.whole);
    const double self = PercentOf(Value(row.self), whole);
    Cell bar;
    bar.own = self / 100;
    bar.with_callees = PercentOf(Value(row.total), whole) / 100;
    bar.paint = PaintOf(self);
    return bar;
  }

  std::vector<Cell> CellsOf(const Row& row) const {
    std::vector<Cell> cells;
    const Estimate& sorted = scene_.options->sort == SortKey::kTotal ? row.total : row.self;
    AddNameCells(scene_.stacks, row.frame, heap::IsSure(sorted), &cells);
    AddAmountCells(SelfStyle(), row.self, Value(scene_.whole), &cells);
    AddAmountCells(TotalStyle(), row.total, Value(scene_.whole), &cells);
    cells.push_back(BarOf(row));
    return cells;
  }

  // Returns the row for all rows that are not shown.  Leaves out totals: they do not add up,
  // because functions call each other.
  std::vector<Cell> Rest(size_t shown, size_t columns) const {
    Estimate rest;
    for (size_t i = shown; i < rows_.size(); ++i) rest.Add(rows_[i].self);
    std::vector<Cell> cells(4);
    const std::string more = MoreText(rows_.size() - shown, by_line_ ? "line" : "function");
    cells[0] = TextCell(more, Paint::kDim);
    AddAmountCells(SelfStyle(), rest, Value(scene_.whole), &cells);
    cells.resize(columns);
    return cells;
  }

  void AddBestStack(const Row& row, std::vector<TextLine>* lines) const {
    if (row.best_stack == heap::kNone || row.best_weight <= 0) return;
    const std::string amount = AmountText(row.best_weight, blocks_);
    const std::string name = NameInText(scene_, row.frame);
    AddStack(scene_, row.best_stack,
             amount + " of " + name + " " + MetricPhrase(scene_.measure.metric) + ", asked for by",
             lines);
  }

  const Scene& scene_;
  const bool by_line_;
  const bool blocks_;
  std::vector<Row> rows_;
  size_t callers_ = 0;  // number of rows that are left out
};

}  // namespace

void AddStack(const Scene& scene, uint32_t stack, const std::string& title,
              std::vector<TextLine>* lines) {
  const heap::Stacks& stacks = scene.stacks;
  const heap::Stack& shown = stacks.stacks[stack];
  lines->push_back({title, Paint::kBold});
  uint64_t end = shown.end;
  if (end - shown.begin > kStackLines + 1) end = shown.begin + kStackLines;
  for (uint64_t i = shown.begin; i < end; ++i) {
    const uint32_t frame = stacks.cells[i];
    const std::string place = PlaceOf(stacks, frame);
    lines->push_back({"  " + NameInText(scene, frame) + (place.empty() ? "" : "  " + place)});
  }
  if (end < shown.end) {
    lines->push_back({"  " + MoreText(static_cast<size_t>(shown.end - end), "frame"), Paint::kDim});
  }
}

void AddFunctions(const Scene& scene, heap::RowKey key, Report* report) {
  FunctionsView(scene, key).Add(report);
}

}  // namespace allomon::views
