#include "tools/mlprof/table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "tools/mlprof/row_order.h"
#include "tools/text/numbers.h"

namespace allomon::mlprof {
namespace {

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
