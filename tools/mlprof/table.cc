#include "tools/mlprof/table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

#include "tools/text/numbers.h"

namespace allomon::mlprof {
namespace {

// The random numbers of MLton's library: constants of Numerical Recipes, seed 13.
class PivotGenerator {
 public:
  // The library draws one number while it is initialized.
  PivotGenerator() { Next(); }

  // Returns a number in low .. high, by the remainder with the divisor's sign.
  int64_t Between(int64_t low, int64_t high) {
    const int64_t range = high - low + 1;
    const int64_t remainder = static_cast<int32_t>(Next()) % range;
    return low + (remainder < 0 ? remainder + range : remainder);
  }

 private:
  uint32_t Next() { return state_ = 1664525u * state_ + 1013904223u; }

  uint32_t state_ = 13;
};

class Sorter {
 public:
  explicit Sorter(const std::vector<double>& percents)
      : percents_(percents), order_(percents.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  std::vector<size_t> Sort() {
    if (order_.empty()) return order_;
    const int64_t last = static_cast<int64_t>(order_.size()) - 1;
    // The smallest element is a sentinel: Partition runs upwards without checking for the end.
    auto smallest = std::min_element(percents_.begin(), percents_.end());
    Swap(smallest - percents_.begin(), last);
    QuickSort(0, last - 1);
    InsertionSort();
    return order_;
  }

 private:
  double At(int64_t i) const { return percents_[order_[i]]; }
  void Swap(int64_t i, int64_t j) { std::swap(order_[i], order_[j]); }

  // Leaves runs of up to kShortRun + 1 elements unsorted.  The stack is explicit, since the
  // recursion may be deep.  The left part is sorted before the right one, because both draw from
  // the same generator.
  void QuickSort(int64_t low, int64_t high) {
    constexpr int64_t kShortRun = 20;
    std::vector<std::pair<int64_t, int64_t>> todo = {{low, high}};
    while (!todo.empty()) {
      auto [l, u] = todo.back();
      todo.pop_back();
      if (u - l <= kShortRun) continue;
      auto [left_end, right_start] = Partition(l, u);
      todo.push_back({right_start, u});
      todo.push_back({l, left_end});
    }
  }

  // Puts elements of at least the pivot before it, and elements of at most the pivot after it.  The
  // scans from both sides stop at equal elements, so that these split evenly.
  std::pair<int64_t, int64_t> Partition(int64_t low, int64_t high) {
    Swap(low, pivots_.Between(low, high));
    const double pivot = At(low);
    int64_t i = low;
    int64_t j = high + 1;
    while (true) {
      while (At(++i) > pivot) {
      }
      while (At(--j) < pivot) {
      }
      if (j < i) break;
      Swap(i, j);
    }
    Swap(low, j);
    return {j - 1, i};
  }

  void InsertionSort() {
    for (size_t i = 1; i < order_.size(); ++i) {
      const size_t element = order_[i];
      size_t j = i;
      for (; j > 0 && percents_[order_[j - 1]] < percents_[element]; --j) {
        order_[j] = order_[j - 1];
      }
      order_[j] = element;
    }
  }

  const std::vector<double>& percents_;
  std::vector<size_t> order_;
  PivotGenerator pivots_;
};

using Row = std::vector<std::string>;

std::vector<size_t> Widths(const Row& heads, const std::vector<Row>& rows) {
  std::vector<size_t> widths(heads.size(), 0);
  const auto widen = [&widths](const Row& row) {
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  };
  widen(heads);
  for (const Row& row : rows) widen(row);
  return widths;
}

void AppendPadded(const std::string& cell, size_t before, size_t after, std::string* out) {
  out->append(before, ' ').append(cell).append(after, ' ');
}

// `blanks_before` tells how many of a cell's spare blanks precede its text.
template <typename BlanksBefore>
void AppendLine(const Row& row, const std::vector<size_t>& widths, BlanksBefore blanks_before,
                std::string* out) {
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) out->push_back(' ');
    const size_t spare = widths[i] - row[i].size();
    const size_t before = blanks_before(i, spare);
    AppendPadded(row[i], before, spare - before, out);
  }
  out->push_back('\n');
}

bool HasRow(const ProfileView& view, const ShownFunction& function) {
  if (IsNonZero(*function.count)) return true;
  return view.has_data() && view.kind() == ProfileKind::kCount &&
         !view.program().table.names[function.name].position.empty();
}

}  // namespace

std::vector<size_t> RowOrder(const std::vector<double>& percents) {
  return Sorter(percents).Sort();
}

std::string JustifiedTable(const Row& heads, const std::vector<Row>& rows) {
  const std::vector<size_t> widths = Widths(heads, rows);
  std::string out;
  AppendLine(
      heads, widths, [](size_t, size_t spare) { return spare / 2; }, &out);
  Row dashes;
  for (size_t width : widths) dashes.emplace_back(width, '-');
  const auto justify = [](size_t column, size_t spare) { return column == 0 ? 0 : spare; };
  AppendLine(dashes, widths, justify, &out);
  for (const Row& row : rows) AppendLine(row, widths, justify, &out);
  return out;
}

std::string FormatTable(const ProfileView& view, const Selection& selection, bool raw,
                        bool show_line) {
  // mlprof sorts a list to which each row was added at the front, so the candidates are in reverse.
  std::vector<const ShownFunction*> candidates;
  std::vector<double> percents;
  for (auto function = selection.functions.rbegin(); function != selection.functions.rend();
       ++function) {
    if (!HasRow(view, *function)) continue;
    candidates.push_back(&*function);
    percents.push_back(view.Percent(function->count->current));
  }
  std::vector<Row> rows;
  for (size_t i : RowOrder(percents)) {
    const SourceName& name = view.program().table.names[candidates[i]->name];
    Row row = {show_line ? FullName(name) : name.name};
    Row cells = Cells(view, raw, *candidates[i]->count);
    std::move(cells.begin(), cells.end(), std::back_inserter(row));
    rows.push_back(std::move(row));
  }
  return JustifiedTable(ColumnHeads(view, raw), rows);
}

namespace {

std::string Seconds(MlmonInt ticks) {
  constexpr double kTicksPerSecond = 100;
  return FormatFixed(static_cast<double>(ticks) / kTicksPerSecond, 2);
}

std::string Amount(ProfileKind kind, MlmonInt count) {
  return kind == ProfileKind::kTime ? "(" + Seconds(count) + "s)" : "(" + FormatCommas(count) + ")";
}

void AppendCells(const ProfileView& view, bool raw, MlmonInt count,
                 std::vector<std::string>* cells) {
  cells->push_back(FormatFixed(view.Percent(count), 1) + "%");
  if (raw) cells->push_back(Amount(view.kind(), count));
}

}  // namespace

std::vector<std::string> Cells(const ProfileView& view, bool raw, const MlmonCount& count) {
  std::vector<std::string> cells;
  AppendCells(view, raw, count.current, &cells);
  if (view.has_stack()) {
    AppendCells(view, raw, count.stack, &cells);
    AppendCells(view, raw, count.stack_gc, &cells);
  }
  return cells;
}

std::vector<std::string> ColumnHeads(const ProfileView& view, bool raw) {
  std::vector<std::string> heads = {"function"};
  for (const char* head : {"cur", "stack", "GC"}) {
    heads.push_back(head);
    if (raw) heads.push_back("raw");
    if (!view.has_stack()) break;
  }
  return heads;
}

std::string TotalsLine(const ProfileView& view) {
  if (!view.has_data()) return "";
  switch (view.kind()) {
    case ProfileKind::kAlloc:
      return FormatCommas(view.total()) + " bytes allocated (" + FormatCommas(view.total_gc()) +
             " bytes by GC)\n";
    case ProfileKind::kTime:
      return Seconds(view.total()) + " seconds of CPU time (" + Seconds(view.total_gc()) +
             " seconds GC)\n";
    case ProfileKind::kCount:
      return FormatCommas(view.total()) + " ticks\n";
  }
  return "";
}

bool IsNonZero(const MlmonCount& count) {
  return count.current > 0 || count.stack > 0 || count.stack_gc > 0;
}

}  // namespace allomon::mlprof
