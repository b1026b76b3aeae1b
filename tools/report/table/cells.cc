#include "tools/report/table/cells.h"

#include <utility>

#include "tools/text/names.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

constexpr double kHotPercent = 10;
constexpr double kWarmPercent = 1;

// Leaves out the upper bound if the recording lost samples: the amount may then be any larger.
std::string NoiseText(const heap::Estimate& estimate, const heap::Interval& interval, bool blocks) {
  return estimate.is_whole ? "noise, < " + AmountText(interval.high, blocks) : "noise";
}

}  // namespace

Paint PaintOf(double percent) {
  if (percent >= kHotPercent) return Paint::kHot;
  return percent >= kWarmPercent ? Paint::kWarm : Paint::kDim;
}

Cell TextCell(const std::string& text, Paint paint) { return {text, text, paint}; }

Cell NumberCell(const std::string& shown, double number, Paint paint) {
  return {shown, number, paint};
}

Cell DataCell(Data data) {
  Cell cell;
  cell.data = std::move(data);
  return cell;
}

std::string NameInText(const Scene& scene, uint32_t frame) {
  const std::string& name = scene.stacks.NameOf(frame).text;
  return scene.options->width == 0 ? name : report::ShortName(name);
}

std::string PlaceOf(const heap::Stacks& stacks, uint32_t frame) {
  const heap::Name& name = stacks.NameOf(frame);
  const uint32_t own = stacks.frames[frame].line;
  const uint32_t line = own != 0 ? own : name.start_line;
  if (name.file.empty() || line == 0) return name.file;
  return name.file + ":" + std::to_string(line);
}

void AddNameColumns(Table* table) {
  table->columns.push_back({"function", "function", Column::Kind::kName, kStays});
  table->columns.push_back({"", "where", Column::Kind::kPath, kDropPlace});
  table->columns.push_back({"file", ""});
  table->columns.push_back({"line", ""});
}

void AddNameCells(const heap::Stacks& stacks, uint32_t frame, bool sure, std::vector<Cell>* row) {
  ALLOMON_DCHECK_LT("inv.heap.numbers", frame, stacks.frames.size());
  const heap::Name& name = stacks.NameOf(frame);
  row->push_back(TextCell(name.text, sure ? Paint::kBold : Paint::kDim));
  row->push_back(TextCell(PlaceOf(stacks, frame), Paint::kDim));
  row->push_back(DataCell(name.file));
  row->push_back(DataCell(static_cast<double>(stacks.frames[frame].line)));
}

AmountStyle BytesStyle(const Scene& scene) {
  const char* const head = heap::MetricName(scene.measure.metric);
  return {"bytes", head, "%", false, scene.HasIntervals(), kStays};
}

AmountStyle BlocksStyle(const Scene& scene) {
  const bool has_blocks = scene.profile->has_blocks;
  return {"blocks",  has_blocks ? "blocks" : "", has_blocks ? "blocks %" : "", true, false,
          kDropTotal};
}

void AddAmountColumns(const AmountStyle& style, Table* table) {
  [[maybe_unused]] const size_t before = table->columns.size();
  const auto add = [table](const std::string& key, const std::string& head, int drop_rank) {
    table->columns.push_back({key, head, Column::Kind::kNumber, drop_rank});
  };
  add(style.key, style.head, style.drop_rank);
  add("", style.has_range ? "95 %" : "", style.drop_rank == kStays ? kDropRange : style.drop_rank);
  add(style.key + "_low", "", 0);
  add(style.key + "_high", "", 0);
  add(style.key + "_sure", "", 0);
  add(style.key + "_percent", style.share_head,
      style.drop_rank == kStays ? kDropShare : style.drop_rank);
  ALLOMON_DCHECK_EQ("inv.report.cells", table->columns.size() - before, kAmountColumns);
}

void AddAmountCells(const AmountStyle& style, const heap::Estimate& estimate, double whole,
                    std::vector<Cell>* row) {
  [[maybe_unused]] const size_t before = row->size();
  const double value = ValueOf(estimate.amount, style.blocks);
  const heap::Interval interval = IntervalOf(estimate, style.blocks);
  ALLOMON_DCHECK("inv.heap.interval", interval.low <= interval.high);
  const bool sure = heap::IsSure(estimate);
  const double percent = PercentOf(value, whole);
  const Paint paint = sure ? Paint::kPlain : Paint::kDim;
  row->push_back(NumberCell(AmountText(value, style.blocks), value, paint));
  row->push_back(TextCell(
      sure ? RangeText(interval, style.blocks) : NoiseText(estimate, interval, style.blocks),
      Paint::kDim));
  row->push_back(DataCell(interval.low));
  row->push_back(DataCell(interval.high));
  row->push_back(DataCell(sure));
  row->push_back(NumberCell(PercentText(percent), percent, sure ? PaintOf(percent) : Paint::kDim));
  ALLOMON_DCHECK_EQ("inv.report.cells", row->size() - before, kAmountColumns);
}

std::string MoreText(size_t count, const std::string& what) {
  return Counted(static_cast<double>(count), "more " + what);
}

TextLine LeftOutText(size_t count, const std::string& what) {
  return {MoreText(count, what) + "; --top=0 shows all", Paint::kDim};
}

}  // namespace allomon::views
