#include "tools/mlprof/cells.h"

#include "tools/text/numbers.h"

namespace allomon::mlprof {
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
