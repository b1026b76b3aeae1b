#include "tools/text/grid.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tools/text/plain_text.h"

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
    // Scales all bars of the column alike, so that they stay in proportion.
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

bool IsOfWord(char c) {
  return c == '_' || static_cast<unsigned char>(c) >= 0x80 ||
         isalnum(static_cast<unsigned char>(c)) != 0;
}

// Returns the part of each text by which it differs: without the words at its beginning and its end
// that all texts share.
std::vector<std::string> Differences(const std::vector<std::string>& texts) {
  size_t same_begin = texts[0].size();
  size_t same_end = same_begin;
  size_t shortest = same_begin;
  for (const std::string& text : texts) {
    const auto begin = std::mismatch(text.begin(), text.end(), texts[0].begin(), texts[0].end());
    const auto end = std::mismatch(text.rbegin(), text.rend(), texts[0].rbegin(), texts[0].rend());
    same_begin = std::min(same_begin, static_cast<size_t>(begin.first - text.begin()));
    same_end = std::min(same_end, static_cast<size_t>(end.first - text.rbegin()));
    shortest = std::min(shortest, text.size());
  }
  same_end = std::min(same_end, shortest - same_begin);
  const std::string& first = texts[0];
  while (same_begin > 0 && IsOfWord(first[same_begin - 1])) --same_begin;
  while (same_end > 0 && IsOfWord(first[first.size() - same_end])) --same_end;
  std::vector<std::string> differences;
  for (const std::string& text : texts) {
    differences.push_back(text.substr(same_begin, text.size() - same_begin - same_end));
  }
  return differences;
}

// Cuts the texts of a column to a number of columns, and caches the results by original text.
class CutTexts {
 public:
  CutTexts(const Column& column, std::set<std::string> texts, int columns, Charset charset)
      : column_(column), columns_(columns), charset_(charset) {
    std::map<std::string, std::vector<std::string>> texts_by_cut;
    for (const std::string& text : texts) {
      texts_by_cut[column.cut(text, columns, charset)].push_back(text);
    }
    for (const auto& [cut, same] : texts_by_cut) {
      const bool is_apart = same.size() == 1 || !column.keeps_apart;
      const auto marks = is_apart ? std::vector<std::string>(same.size()) : Differences(same);
      for (size_t i = 0; i < same.size(); ++i) cut_[same[i]] = Marked(cut, same[i], marks[i]);
    }
  }

  const std::string& operator[](const std::string& text) const { return cut_.at(text); }

 private:
  std::string Marked(const std::string& cut, const std::string& text,
                     const std::string& mark) const {
    const int room = std::min(Columns(mark), columns_ / 2);
    if (mark.empty() || room < 2) return cut;
    return column_.cut(text, columns_ - room - 1, charset_) + " " +
           CutToBeginning(mark, room, charset_);
  }

  const Column& column_;
  const int columns_;
  const Charset charset_;
  std::map<std::string, std::string> cut_;
};

class Formatter {
 public:
  Formatter(const Grid& grid, const std::vector<int>& widths, Charset charset, bool colored)
      : grid_(grid), widths_(widths), charset_(charset), colored_(colored) {
    for (size_t i = 0; i < grid.columns.size(); ++i) {
      std::set<std::string> texts = {grid.columns[i].head};
      for (const auto& row : grid.rows) texts.insert(row[i].text);
      if (grid.columns[i].kind != Column::Kind::kText) texts.clear();
      cut_.emplace_back(grid.columns[i], std::move(texts), widths[i], charset);
    }
  }

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
    size_t end = 0;  // after the last visible cell
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
    if (column.kind == Column::Kind::kText) return cut_[i][cell.text];
    if (column.kind == Column::Kind::kNumber) return cell.text;
    return Bar(cell.own, cell.with_callees, column.full_bar, charset_);
  }

  const Grid& grid_;
  const std::vector<int>& widths_;
  const Charset charset_;
  const bool colored_;
  std::vector<CutTexts> cut_;  // by column
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

namespace {

// U+258F (one eighth) down to U+2588 (full).
constexpr const char* kEighths[] = {"",       "\u258f", "\u258e", "\u258d", "\u258c",
                                    "\u258b", "\u258a", "\u2589", "\u2588"};
constexpr const char* kLight = "\u2591";

std::string Repeated(const char* text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

int Rounded(double share, int steps) {
  return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * steps));
}

int Steps(double share, int steps) { return share > 0 ? std::max(1, Rounded(share, steps)) : 0; }

std::string FineBar(double share, int columns) {
  const int eighths = Steps(share, 8 * columns);
  return Repeated(kEighths[8], eighths / 8) + kEighths[eighths % 8];
}

}  // namespace

std::string Bar(double own, double with_callees, int columns, Charset charset) {
  const bool ascii = charset == Charset::kAscii;
  if (!ascii && !(with_callees > own)) return FineBar(own, columns);
  const int all = Steps(std::max(own, with_callees), columns);
  const int solid = with_callees > own ? Rounded(own, columns) : all;
  return Repeated(ascii ? "#" : kEighths[8], solid) + Repeated(ascii ? "-" : kLight, all - solid);
}

}  // namespace allomon::report
