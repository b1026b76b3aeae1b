#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/rows.h"
#include "tools/heap/sum_check.h"
#include "tools/report/table/cells.h"
#include "tools/report/table/source_file.h"
#include "tools/report/views/all_views.h"
#include "tools/text/names.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::Estimate;
using Row = heap::Row<Estimate>;

constexpr uint32_t kAround = 3;        // lines shown before the first and after the last one
constexpr uint32_t kWholeLines = 200;  // of a longer function only lines near amounts are shown

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool IsMeant(const std::string& name, const std::string& asked) {
  if (name == asked) return true;
  const std::string qualified = report::QualifiedName(name);
  return qualified == asked || EndsWith(qualified, "::" + asked);
}

struct LineSums {
  Estimate self;
  Estimate total;
};

class SourceView {
 public:
  explicit SourceView(const Scene& scene) : scene_(scene) {
    rows_ = heap::RowsOf(scene.stacks, scene.values, heap::RowKey::kLine,
                         [](const Estimate& estimate) { return estimate.amount.bytes; });
  }

  absl::Status Add(Report* report) {
    const std::string& asked = scene_.options->source;
    Find(asked);
    if (!found_) {
      return absl::InvalidArgumentError("no function " + asked +
                                        " is in the chosen stacks; --view=functions lists them");
    }
    if (lines_.empty() || file_.empty()) {
      return absl::InvalidArgumentError("the profile has no lines of " + asked +
                                        ": its program had no debug information");
    }
    auto source = FindSource(file_);
    if (!source.ok()) return source.status();
    report->head.push_back({asked + " in " + source->path, Paint::kPlain});
    report->tables.push_back(TableOf(*source));
    if (lines_.rbegin()->first > source->lines.size()) {
      report->notes.push_back(source->path + " is shorter than when the program was built");
    }
    return absl::OkStatus();
  }

 private:
  double Value(const Estimate& estimate) const {
    return ValueOf(estimate.amount, scene_.measure.blocks);
  }

  // Finds the lines of the function.  If several functions have that name, takes those in the file
  // of the heaviest one.
  void Find(const std::string& asked) {
    std::vector<bool> is_meant;
    for (const heap::Name& name : scene_.stacks.names) {
      is_meant.push_back(IsMeant(name.text, asked));
    }
    double most = -1;
    const auto for_each = [&](const auto& use) {
      for (const Row& row : rows_) {
        const heap::Frame& frame = scene_.stacks.frames[row.frame];
        if (is_meant[frame.name] && Value(row.total) > 0) use(row, frame);
      }
    };
    for_each([&](const Row& row, const heap::Frame& frame) {
      found_ = true;
      if (Value(row.total) <= most) return;
      most = Value(row.total);
      file_ = scene_.stacks.names[frame.name].file;
    });
    for_each([&](const Row& row, const heap::Frame& frame) {
      const heap::Name& name = scene_.stacks.names[frame.name];
      if (name.file != file_ || frame.line == 0) return;
      lines_[frame.line].self.Add(row.self);
      lines_[frame.line].total.Add(row.total);
      ALLOMON_DCHECK("inv.report.part",
                     heap::IsPartOf(lines_[frame.line].self, lines_[frame.line].total));
      if (name.start_line != 0 && name.start_line <= frame.line) {
        start_ = start_ == 0 ? name.start_line : std::min(start_, name.start_line);
      }
    });
  }

  AmountStyle Style(const char* key, const char* head, bool has_share) const {
    return {key,
            head,
            has_share ? "%" : "",
            scene_.measure.blocks,
            has_share && scene_.HasIntervals(),
            has_share ? kStays : kDropTotal};
  }
  AmountStyle TotalStyle() const {
    return Style("total", heap::MetricName(scene_.measure.metric), true);
  }
  AmountStyle SelfStyle() const { return Style("self", "itself", false); }

  bool IsShown(uint32_t line, bool whole) const {
    if (whole) return true;
    const auto next = lines_.lower_bound(line < kAround ? 0 : line - kAround);
    return next != lines_.end() && next->first <= line + kAround;
  }

  Table TableOf(const SourceFile& source) const {
    Table table;
    table.key = "source";
    AddAmountColumns(TotalStyle(), &table);
    AddAmountColumns(SelfStyle(), &table);
    table.columns.push_back({"line", "line"});
    table.columns.push_back({"text", "source", Column::Kind::kCode, kStays});
    const uint32_t first_line = start_ != 0 ? start_ : lines_.begin()->first;
    const uint32_t begin = first_line > kAround ? first_line - kAround : 1;
    const auto length = static_cast<uint32_t>(source.lines.size());
    const uint32_t last = lines_.rbegin()->first;
    const uint32_t end = last > length || last + kAround > length ? length : last + kAround;
    const bool whole = end - begin <= kWholeLines;
    for (uint32_t line = begin; line <= end; ++line) {
      if (!IsShown(line, whole)) continue;
      ALLOMON_DCHECK("inv.report.line", 0 < line && line <= source.lines.size());
      table.rows.push_back(CellsOf(line, source.lines[line - 1]));
    }
    return table;
  }

  std::vector<Cell> CellsOf(uint32_t line, const std::string& text) const {
    std::vector<Cell> cells;
    const auto sums = lines_.find(line);
    if (sums != lines_.end()) {
      const double whole = Value(scene_.whole);
      AddAmountCells(TotalStyle(), sums->second.total, whole, &cells);
      AddAmountCells(SelfStyle(), sums->second.self, whole, &cells);
    } else {
      cells.resize(2 * kAmountColumns);
    }
    cells.push_back(NumberCell(std::to_string(line), line, Paint::kDim));
    cells.push_back({Untabbed(text), text, sums != lines_.end() ? Paint::kBold : Paint::kPlain});
    return cells;
  }

  static std::string Untabbed(const std::string& text) {
    std::string untabbed;
    for (const char c : text) {
      if (c == '\t') {
        untabbed.append(8 - untabbed.size() % 8, ' ');
      } else if (c != '\r') {
        untabbed += c;
      }
    }
    return untabbed;
  }

  const Scene& scene_;
  std::vector<Row> rows_;
  bool found_ = false;
  std::string file_;
  uint32_t start_ = 0;  // the smallest first line of the functions; 0: not known
  std::map<uint32_t, LineSums> lines_;
};

}  // namespace

absl::Status AddSource(const Scene& scene, Report* report) { return SourceView(scene).Add(report); }

}  // namespace allomon::views
