#include "tools/report/grid.h"

#include <algorithm>
#include <numeric>

#include "tools/report/bar.h"
#include "tools/text/utf8.h"

namespace allomon::report {
namespace {

constexpr int kGap = 2;

const char* Sequence(Paint paint) {
  switch (paint) {
    case Paint::kPlain:
      return "";
    case Paint::kBold:
      return "\033[1m";
    case Paint::kDim:
      return "\033[2m";
    case Paint::kHot:
      return "\033[31m";
    case Paint::kWarm:
      return "\033[33m";
    case Paint::kShrunk:
      return "\033[32m";
  }
  return "";
}

class Layout {
 public:
  Layout(Grid* grid, int width, Charset charset) : grid_(*grid), width_(width), charset_(charset) {
    Measure();
  }

  // Cuts texts and drops columns until the grid fits.  Returns the widths.
  std::vector<int> Fit() {
    if (width_ == 0) return widths_;
    while (Least() > width_ && DropOne()) {
    }
    CutTexts();
    return widths_;
  }

 private:
  void Measure() {
    for (size_t i = 0; i < grid_.columns.size(); ++i) {
      int width = Columns(grid_.columns[i].head);
      for (const auto& row : grid_.rows) width = std::max(width, ColumnsOf(row[i], i));
      widths_.push_back(width);
    }
  }

  int ColumnsOf(const Cell& cell, size_t column) const {
    if (!Is(column, Column::Kind::kBar)) return Columns(cell.text);
    return Columns(Bar(cell.own, cell.with_callees, grid_.columns[column].full_bar, charset_));
  }

  bool Is(size_t column, Column::Kind kind) const { return grid_.columns[column].kind == kind; }

  int LeastOf(size_t column) const {
    return Is(column, Column::Kind::kNumber)
               ? widths_[column]
               : std::min(widths_[column], grid_.columns[column].least);
  }

  int Gaps() const { return kGap * (static_cast<int>(widths_.size()) - 1); }

  int Least() const {
    int least = Gaps();
    for (size_t i = 0; i < widths_.size(); ++i) {
      least += LeastOf(i);
    }
    return least;
  }

  bool DropOne() {
    const auto& columns = grid_.columns;
    const auto last = std::max_element(
        columns.begin(), columns.end(),
        [](const Column& a, const Column& b) { return a.drop_rank < b.drop_rank; });
    if (last->drop_rank == 0) return false;
    const auto index = last - columns.begin();
    grid_.columns.erase(grid_.columns.begin() + index);
    widths_.erase(widths_.begin() + index);
    for (auto& row : grid_.rows) row.erase(row.begin() + index);
    return true;
  }

  // Cuts texts and bars to their least widths: first texts that could be dropped, then bars, then
  // the other texts.  If that is not enough, cuts all texts further.
  void CutTexts() {
    int excess = std::accumulate(widths_.begin(), widths_.end(), Gaps()) - width_;
    for (const auto kind : {Column::Kind::kText, Column::Kind::kBar}) {
      for (size_t i = 0; i < widths_.size(); ++i) {
        if (Is(i, kind) && grid_.columns[i].drop_rank > 0) Cut(i, LeastOf(i), &excess);
      }
    }
    for (size_t i = 0; i < widths_.size(); ++i) Cut(i, LeastOf(i), &excess);
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (Is(i, Column::Kind::kText)) Cut(i, 1, &excess);
    }
  }

  void Cut(size_t column, int least, int* excess) {
    const int cut = std::clamp(*excess, 0, std::max(0, widths_[column] - least));
    if (cut == 0) return;
    // All bars of the column stay in proportion.
    int& full_bar = grid_.columns[column].full_bar;
    full_bar = full_bar * (widths_[column] - cut) / widths_[column];
    widths_[column] -= cut;
    *excess -= cut;
  }

  Grid& grid_;
  const int width_;
  const Charset charset_;
  std::vector<int> widths_;
};

std::string Aligned(const std::string& text, int width, bool left) {
  const std::string blanks(static_cast<size_t>(std::max(0, width - Columns(text))), ' ');
  return left ? text + blanks : blanks + text;
}

class Formatter {
 public:
  Formatter(const Grid& grid, const std::vector<int>& widths, Charset charset, bool colored)
      : grid_(grid), widths_(widths), charset_(charset), colored_(colored) {}

  std::string Lines() const {
    std::vector<Cell> heads;
    for (const Column& column : grid_.columns) heads.push_back({column.head, Paint::kBold});
    std::string lines = Line(heads);
    for (const auto& row : grid_.rows) lines += Line(row);
    return lines;
  }

 private:
  std::string Line(const std::vector<Cell>& row) const {
    std::string line;
    size_t end = 0;  // behind the last visible cell
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      const std::string text = TextOf(row[i], i);
      const bool left = grid_.columns[i].kind != Column::Kind::kNumber;
      line += Painted(Aligned(text, widths_[i], left), row[i].paint, colored_);
      if (!text.empty()) end = line.size();
    }
    if (!colored_) end = line.find_last_not_of(' ') + 1;
    line.resize(end);
    return line + "\n";
  }

  std::string TextOf(const Cell& cell, size_t i) const {
    const Column& column = grid_.columns[i];
    if (column.kind == Column::Kind::kText) return column.cut(cell.text, widths_[i], charset_);
    if (column.kind == Column::Kind::kNumber) return cell.text;
    return Bar(cell.own, cell.with_callees, column.full_bar, charset_);
  }

  const Grid& grid_;
  const std::vector<int>& widths_;
  const Charset charset_;
  const bool colored_;
};

}  // namespace

std::string Painted(const std::string& text, Paint paint, bool colored) {
  if (!colored || paint == Paint::kPlain || text.empty()) return text;
  return Sequence(paint) + text + "\033[0m";
}

std::string FormatGrid(Grid grid, int width, Charset charset, bool colored) {
  const std::vector<int> widths = Layout(&grid, width, charset).Fit();
  return Formatter(grid, widths, charset, colored).Lines();
}

}  // namespace allomon::report
