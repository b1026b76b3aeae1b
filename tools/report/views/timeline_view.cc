#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tools/report/table/cells.h"
#include "tools/report/views/all_views.h"
#include "tools/text/plain_text.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::TimelinePoint;

constexpr int kLines = 10;
constexpr int kEighths = 8;
constexpr int kLeastColumns = 20;
constexpr int kMostColumns = 400;

// U+2581 (one eighth from below) to U+2588 (full).
constexpr const char* kSteps[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                  "\u2585", "\u2586", "\u2587", "\u2588"};

double Most(const TimelinePoint& point) {
  const double most = std::max(point.most_live_bytes, point.live_bytes);
  return std::isfinite(most) ? most : 0;
}

class Plot {
 public:
  Plot(const Scene& scene, int columns) : scene_(scene), points_(scene.profile->timeline) {
    for (const TimelinePoint& point : points_) {
      highest_ = std::max(highest_, Most(point));
      if (std::isfinite(point.seconds)) end_ = std::max(end_, point.seconds);
    }
    label_ = Columns(AmountText(highest_, false));
    columns_ = std::clamp(columns, kLeastColumns, kMostColumns) - label_ - 2;
    columns_ = std::max(columns_, 8);
    Fill();
  }

  std::vector<TextLine> Lines() const {
    std::vector<TextLine> lines = {{std::string(Indent(), ' ') + PeakLine(), Paint::kHot}};
    for (int line = kLines; line-- > 0;) lines.push_back({Label(line) + Row(line), Paint::kPlain});
    lines.push_back({std::string(Indent(), ' ') + Axis(), Paint::kDim});
    return lines;
  }

 private:
  size_t Indent() const { return static_cast<size_t>(label_) + 2; }

  int ColumnOf(double seconds) const {
    if (!(end_ > 0) || !std::isfinite(seconds)) return 0;
    return static_cast<int>(std::clamp(seconds / end_ * columns_, 0.0, columns_ - 1.0));
  }

  // Computes the most live bytes of each column.  A column without a point repeats the last live
  // bytes before it.
  void Fill() {
    most_.assign(static_cast<size_t>(columns_), -1);
    std::vector<double> last(most_.size(), 0);
    for (const TimelinePoint& point : points_) {
      const auto column = static_cast<size_t>(ColumnOf(point.seconds));
      ALLOMON_DCHECK_LT("inv.report.bucket", column, most_.size());
      most_[column] = std::max(most_[column], Most(point));
      last[column] = std::isfinite(point.live_bytes) ? point.live_bytes : 0;
    }
    double before = 0;
    for (size_t i = 0; i < most_.size(); ++i) {
      if (most_[i] >= 0) before = last[i];
      if (most_[i] < 0) most_[i] = before;
    }
    peak_ = static_cast<int>(std::max_element(most_.begin(), most_.end()) - most_.begin());
  }

  // Returns the amount beside the highest, the middle or the lowest line; blanks for other lines.
  std::string Label(int line) const {
    std::string text;
    if (line == kLines - 1) text = AmountText(highest_, false);
    if (line == kLines / 2 - 1) text = AmountText(highest_ / 2, false);
    if (line == 0) text = "0 B";
    return std::string(static_cast<size_t>(std::max(0, label_ - Columns(text))), ' ') + text + "  ";
  }

  std::string Row(int line) const {
    std::string row;
    for (const double most : most_) row += Step(most, line);
    row.resize(row.find_last_not_of(' ') + 1);
    return row;
  }

  // Draws at least an eighth for any amount above 0, so that it is visible in the lowest line.
  std::string Step(double most, int line) const {
    const double share = highest_ > 0 ? std::clamp(most / highest_, 0.0, 1.0) : 0;
    int eighths = static_cast<int>(std::lround(share * kLines * kEighths));
    if (most > 0) eighths = std::max(eighths, 1);
    eighths = std::clamp(eighths - line * kEighths, 0, kEighths);
    if (scene_.charset == Charset::kUtf8) return kSteps[eighths];
    return eighths >= kEighths / 2 || (line == 0 && eighths > 0) ? "#" : " ";
  }

  std::string PeakLine() const {
    const double seconds = scene_.profile->peak_seconds;
    const std::string mark = scene_.charset == Charset::kUtf8 ? "\u25bc" : "v";
    const std::string text =
        "peak " + AmountText(highest_, false) + (seconds > 0 ? ", " + SecondsText(seconds) : "");
    const auto before = static_cast<size_t>(peak_);
    if (peak_ + 2 + Columns(text) <= columns_) return std::string(before, ' ') + mark + " " + text;
    const auto length = static_cast<size_t>(Columns(text)) + 1;
    if (before >= length) return std::string(before - length, ' ') + text + " " + mark;
    return std::string(before, ' ') + mark;
  }

  std::string Axis() const {
    const std::string end = SecondsText(end_);
    const int blanks = std::max(1, columns_ - 3 - Columns(end));
    return "0 s" + std::string(static_cast<size_t>(blanks), ' ') + end;
  }

  const Scene& scene_;
  const std::vector<TimelinePoint>& points_;
  double highest_ = 0;
  double end_ = 0;
  int label_ = 0;    // columns of the amounts beside the plot
  int columns_ = 0;  // columns of the plot
  int peak_ = 0;     // column of the peak
  std::vector<double> most_;
};

Table TableOf(const std::vector<TimelinePoint>& points) {
  Table table;
  table.key = "timeline";
  table.columns = {
      {"seconds", ""}, {"allocated_bytes", ""}, {"live_bytes", ""}, {"most_live_bytes", ""}};
  for (const TimelinePoint& point : points) {
    table.rows.push_back({DataCell(point.seconds), DataCell(point.allocated_bytes),
                          DataCell(point.live_bytes), DataCell(point.most_live_bytes)});
  }
  return table;
}

}  // namespace

absl::Status AddTimeline(const Scene& scene, int columns, Report* report) {
  const std::vector<TimelinePoint>& points = scene.profile->timeline;
  if (points.empty()) {
    return absl::InvalidArgumentError(
        "no timeline is known: a recording has one (allomon run -- PROGRAM)");
  }
  if (scene.IsOfChosen()) {
    return absl::InvalidArgumentError(
        "--timeline is of all stacks: leave out --focus, --ignore and those of labels");
  }
  if (scene.options->format == Format::kTable) {
    report->picture = Plot(scene, columns).Lines();
  } else {
    report->tables.push_back(TableOf(points));
  }
  return absl::OkStatus();
}

}  // namespace allomon::views
