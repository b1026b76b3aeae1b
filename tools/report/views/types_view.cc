#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tools/heap/block_type.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::BlockType;
using heap::Estimate;

constexpr char kUnknown[] = "?";

struct TypeRow {
  std::string type;    // empty: not known
  std::string holder;  // for people; empty: not known
  Estimate estimate;
  uint32_t frame = 0;  // charged frame of the heaviest stack
  double frame_value = -1;
};

class TypesView {
 public:
  explicit TypesView(const Scene& scene) : scene_(scene), types_(*scene.profile, scene.stacks) {
    for (size_t i = 0; i < scene.stacks.stacks.size(); ++i) {
      AddBlocks(scene.stacks.stacks[i], scene.values[i]);
    }
    ALLOMON_DCHECK("inv.heap.sum", RowsAddUp());
    rows_.erase(std::remove_if(rows_.begin(), rows_.end(),
                               [this](const TypeRow& row) { return Value(row.estimate) == 0; }),
                rows_.end());
    std::stable_sort(rows_.begin(), rows_.end(), [this](const TypeRow& a, const TypeRow& b) {
      if (scene_.options->sort == SortKey::kName) {
        return std::tie(a.type, a.holder) < std::tie(b.type, b.holder);
      }
      return Value(a.estimate) > Value(b.estimate);
    });
  }

  void Add(Report* report) const {
    Table table;
    table.key = "types";
    table.columns = {{"type", "type", Column::Kind::kCode}, {"holder", "in", Column::Kind::kCode}};
    AddAmountColumns(BytesStyle(scene_), &table);
    AddAmountColumns(BlocksWithoutShare(), &table);
    if (scene_.profile->has_blocks) table.columns.push_back({"bytes_per_block", "each"});
    AddNameColumns(&table);
    table.columns.push_back({"", "", Column::Kind::kBar, kDropBar});
    const size_t shown = scene_.rows == 0 ? rows_.size() : std::min(rows_.size(), scene_.rows);
    for (size_t i = 0; i < shown; ++i) table.rows.push_back(CellsOf(rows_[i]));
    if (shown < rows_.size()) {
      table.AddRest(Rest(shown, table.columns.size()), rows_.size() - shown);
    }
    report->tables.push_back(std::move(table));
    AddNotes(report);
  }

 private:
  using Key = std::tuple<std::string, std::string, uint32_t>;

  double Value(const Estimate& estimate) const {
    return ValueOf(estimate.amount, scene_.measure.blocks);
  }

  bool RowsAddUp() const {
    heap::SumCheck sum;
    for (const TypeRow& row : rows_) sum.Add(row.estimate.amount);
    return sum.Is(scene_.selected.amount);
  }

  void AddBlocks(const heap::Stack& stack, const Estimate& estimate) {
    const BlockType type = types_.Of(stack);
    const uint32_t frame = scene_.stacks.cells[stack.begin];
    // Blocks of unknown type are told apart by the function that asked for them.
    const uint32_t function = type.type.empty() ? scene_.stacks.frames[frame].name : heap::kNone;
    const auto [place, is_new] =
        numbers_.try_emplace(Key(type.type, type.holder, function), rows_.size());
    if (is_new) rows_.push_back({type.type, type.holder, {}, frame, -1});
    TypeRow& row = rows_[place->second];
    row.estimate.Add(estimate);
    if (Value(estimate) > row.frame_value) {
      row.frame = frame;
      row.frame_value = Value(estimate);
    }
    (type.type.empty() ? unknown_ : known_).Add(estimate);
    if (type.by_symbol && !type.type.empty()) by_symbol_.Add(estimate);
  }

  AmountStyle BlocksWithoutShare() const {
    return {"blocks", scene_.profile->has_blocks ? "blocks" : "", "", true, false, kDropTotal};
  }

  std::vector<Cell> CellsOf(const TypeRow& row) const {
    const Paint paint = heap::IsSure(row.estimate) ? Paint::kBold : Paint::kDim;
    std::vector<Cell> cells = {TextCell(row.type.empty() ? kUnknown : row.type, paint),
                               TextCell(row.holder)};
    if (row.type.empty()) cells[0].data = Data();
    if (row.holder.empty()) cells[1].data = Data();
    AddAmounts(row.estimate, &cells);
    AddNameCells(scene_.stacks, row.frame, heap::IsSure(row.estimate), &cells);
    Cell bar;
    bar.own = PercentOf(Value(row.estimate), Value(scene_.whole)) / 100;
    bar.paint = PaintOf(100 * bar.own);
    cells.push_back(bar);
    return cells;
  }

  void AddAmounts(const Estimate& estimate, std::vector<Cell>* cells) const {
    AddAmountCells(BytesStyle(scene_), estimate, scene_.whole.amount.bytes, cells);
    AddAmountCells(BlocksWithoutShare(), estimate, scene_.whole.amount.blocks, cells);
    if (!scene_.profile->has_blocks) return;
    const heap::Amount& amount = estimate.amount;
    const double each = amount.blocks > 0 ? amount.bytes / amount.blocks : 0;
    cells->push_back(NumberCell(AmountText(each, false), each));
  }

  std::vector<Cell> Rest(size_t shown, size_t columns) const {
    Estimate rest;
    for (size_t i = shown; i < rows_.size(); ++i) rest.Add(rows_[i].estimate);
    std::vector<Cell> cells = {TextCell(MoreText(rows_.size() - shown, "type"), Paint::kDim), {}};
    AddAmounts(rest, &cells);
    cells.resize(columns);
    return cells;
  }

  void AddNotes(Report* report) const {
    const double whole = Value(known_) + Value(unknown_);
    if (Value(unknown_) > 0) {
      report->foot.push_back(
          {PercentText(PercentOf(Value(unknown_), whole)) +
               " are of unknown type: malloc and a plain \"new\" leave no name, nor does code "
               "without debug information (-g1; of clang -g)",
           Paint::kDim});
    }
    if (scene_.profile->knows_object_types) {
      report->foot.push_back(
          {"types in Python were read from the live objects: other metrics than "
           "live do not have them; items of lists and tables of dictionaries "
           "are no objects",
           Paint::kDim});
    }
    if (Value(by_symbol_) > 0) {
      report->foot.push_back(
          {PercentText(PercentOf(Value(by_symbol_), whole)) +
               " are told by the linker's names alone: their code (libstdc++'s, say) has no debug "
               "information (-g1), so a container that was inlined there is not seen",
           Paint::kDim});
    }
  }

  const Scene& scene_;
  heap::BlockTypes types_;
  std::vector<TypeRow> rows_;
  std::map<Key, size_t> numbers_;
  Estimate known_, unknown_, by_symbol_;
};

}  // namespace

void AddTypes(const Scene& scene, Report* report) { TypesView(scene).Add(report); }

}  // namespace allomon::views
