#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;

constexpr char kUnknown[] = "?";

struct ModuleRow {
  std::string path;  // empty: not known
  Estimate estimate;
};

class ModulesView {
 public:
  explicit ModulesView(const Scene& scene) : scene_(scene) {
    for (size_t i = 0; i < scene.stacks.stacks.size(); ++i) {
      RowOf(PathOf(scene.stacks.stacks[i])).estimate.Add(scene.values[i]);
    }
    ALLOMON_DCHECK("inv.heap.sum", RowsAddUp());
    rows_.erase(std::remove_if(rows_.begin(), rows_.end(),
                               [this](const ModuleRow& row) { return Value(row.estimate) == 0; }),
                rows_.end());
    std::sort(rows_.begin(), rows_.end(), [this](const ModuleRow& a, const ModuleRow& b) {
      const bool by_name = scene_.options->sort == SortKey::kName;
      const double value_a = Value(a.estimate);
      const double value_b = Value(b.estimate);
      return by_name || value_a == value_b ? a.path < b.path : value_a > value_b;
    });
  }

  Table Make() const {
    Table table;
    table.key = "modules";
    table.columns = {{"module", "module", Column::Kind::kPath}};
    AddAmountColumns(BytesStyle(scene_), &table);
    AddAmountColumns(BlocksStyle(scene_), &table);
    table.columns.push_back({"", "", Column::Kind::kBar, kDropBar});
    const size_t shown = scene_.rows == 0 ? rows_.size() : std::min(rows_.size(), scene_.rows);
    for (size_t i = 0; i < shown; ++i) table.rows.push_back(CellsOf(rows_[i]));
    if (shown < rows_.size()) {
      table.AddRest(Rest(shown, table.columns.size()), rows_.size() - shown);
    }
    return table;
  }

 private:
  double Value(const Estimate& estimate) const {
    return ValueOf(estimate.amount, scene_.measure.blocks);
  }

  bool RowsAddUp() const {
    heap::SumCheck sum;
    for (const ModuleRow& row : rows_) sum.Add(row.estimate.amount);
    return sum.Is(scene_.selected.amount);
  }

  // Returns the path of the charged frame's module.
  std::string PathOf(const heap::Stack& stack) const {
    const heap::HeapProfile& profile = *scene_.profile;
    if (stack.location >= profile.locations.size()) return "";
    const uint32_t mapping = profile.locations[stack.location].mapping;
    return mapping < profile.mappings.size() ? profile.mappings[mapping].path : "";
  }

  // A module has a mapping for each of its segments, and for each process of a sum.
  ModuleRow& RowOf(const std::string& path) {
    const auto [place, is_new] = numbers_.try_emplace(path, rows_.size());
    if (is_new) rows_.push_back({path, {}});
    return rows_[place->second];
  }

  void AddAmounts(const Estimate& estimate, std::vector<Cell>* cells) const {
    AddAmountCells(BytesStyle(scene_), estimate, scene_.whole.amount.bytes, cells);
    AddAmountCells(BlocksStyle(scene_), estimate, scene_.whole.amount.blocks, cells);
  }

  std::vector<Cell> CellsOf(const ModuleRow& row) const {
    const Paint paint = heap::IsSure(row.estimate) ? Paint::kBold : Paint::kDim;
    std::vector<Cell> cells = {TextCell(row.path.empty() ? kUnknown : row.path, paint)};
    if (row.path.empty()) cells[0].data = Data();
    AddAmounts(row.estimate, &cells);
    Cell bar;
    bar.own = PercentOf(Value(row.estimate), Value(scene_.whole)) / 100;
    bar.paint = PaintOf(100 * bar.own);
    cells.push_back(bar);
    return cells;
  }

  std::vector<Cell> Rest(size_t shown, size_t columns) const {
    Estimate rest;
    for (size_t i = shown; i < rows_.size(); ++i) rest.Add(rows_[i].estimate);
    std::vector<Cell> cells = {TextCell(MoreText(rows_.size() - shown, "module"), Paint::kDim)};
    AddAmounts(rest, &cells);
    cells.resize(columns);
    return cells;
  }

  const Scene& scene_;
  std::vector<ModuleRow> rows_;
  std::unordered_map<std::string, size_t> numbers_;
};

}  // namespace

void AddModules(const Scene& scene, Report* report) {
  report->tables.push_back(ModulesView(scene).Make());
}

}  // namespace allomon::views
