#include <algorithm>

#include "tools/report/table/outputs.h"
#include "tools/text/names.h"
#include "tools/text/plain_text.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

// The fewest columns of a name: less rarely tells functions apart.
constexpr int kLeastName = 24;
constexpr int kLeastPlace = 14;
constexpr int kLeastBar = 5;

int BarColumns(int width) { return width == 0 || width >= 120 ? 20 : 10; }

size_t BlanksOf(const std::string& text) {
  return std::min(text.find_first_not_of(' '), text.size());
}

// Keeps the blanks, unless a name would have no room after them.
std::string FitTreeName(const std::string& text, int columns, Charset charset) {
  if (Columns(text) <= columns) return text;
  const int blanks = std::min(static_cast<int>(BlanksOf(text)), columns / 2);
  return std::string(static_cast<size_t>(blanks), ' ') +
         report::FitName(text.substr(BlanksOf(text)), columns - blanks, charset);
}

// Returns the end of the function's name in a chain.
size_t EndOfName(const std::string& chain) {
  return std::min({chain.find(" < "), chain.find(" > "), chain.size()});
}

// The name without arguments, and as many of its callers as there is room for.
std::string FitChain(const std::string& chain, int columns, Charset charset) {
  if (Columns(chain) <= columns) return chain;
  const size_t end = EndOfName(chain);
  const std::string name = chain.substr(0, end);
  const std::string qualified = report::QualifiedName(name);
  const std::string callers = chain.substr(end);
  for (size_t kept = callers.size(); kept != 0 && kept != std::string::npos;) {
    const std::string mark = kept == callers.size() ? "" : std::string(" ") + CutMark(charset);
    const std::string text =
        (qualified.empty() ? name : qualified) + callers.substr(0, kept) + mark;
    if (Columns(text) <= columns) return text;
    const size_t before =
        std::max(callers.rfind(" < ", kept - 1) + 1, callers.rfind(" > ", kept - 1) + 1);
    kept = before == 0 ? 0 : before - 1;
  }
  return report::FitName(name, columns, charset);
}

// Splits the text into lines of the style's width.  A word that is longer than a line loses its
// beginning.
std::vector<std::string> Wrapped(const std::string& text, const TextStyle& style) {
  if (style.width == 0 || Columns(text) <= style.width) return {text};
  std::vector<std::string> lines;
  std::string line(std::min(BlanksOf(text), static_cast<size_t>(style.width) / 2), ' ');
  const std::string indent = line;
  bool is_begin = true;
  for (size_t start = BlanksOf(text), end = 0; end != std::string::npos; start = end + 1) {
    end = text.find(' ', start);
    const std::string word = CutToEnd(text.substr(start, end - start),
                                      style.width - static_cast<int>(indent.size()), style.charset);
    ALLOMON_DCHECK("inv.report.width", Columns(word) <= style.width);
    if (!is_begin && Columns(line) + 1 + Columns(word) > style.width) {
      lines.push_back(line);
      line = indent;
      is_begin = true;
    }
    line += (is_begin ? "" : " ") + word;
    is_begin = false;
  }
  lines.push_back(line);
  return lines;
}

class Writer {
 public:
  explicit Writer(const TextStyle& style) : style_(style) {}

  std::string Lines(const std::vector<TextLine>& lines) const {
    std::string text;
    for (const TextLine& line : lines) {
      for (const std::string& part : Wrapped(Printable(line.text, style_.charset), style_)) {
        text += report::Painted(part, line.paint, style_.colored) + "\n";
      }
    }
    return text;
  }

  std::string Picture(const std::vector<TextLine>& lines) const {
    std::string text;
    for (const TextLine& line : lines) {
      text += report::Painted(line.text, line.paint, style_.colored) + "\n";
    }
    return text;
  }

  std::string GridOf(const Table& table) const {
    report::Grid grid;
    std::vector<size_t> shown;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const Column& column = table.columns[i];
      if (column.head.empty() && column.kind != Column::Kind::kBar) continue;
      shown.push_back(i);
      grid.columns.push_back(ColumnOf(column));
    }
    for (const auto& row : table.rows) {
      ALLOMON_DCHECK_EQ("inv.report.cells", row.size(), table.columns.size());
      auto& cells = grid.rows.emplace_back();
      for (const size_t i : shown) cells.push_back(CellOf(row[i]));
    }
    for (size_t i = 0; i < shown.size() && !style_.whole_names; ++i) {
      const Column::Kind kind = table.columns[shown[i]].kind;
      const bool is_name = kind == Column::Kind::kName || kind == Column::Kind::kTree;
      if (is_name || kind == Column::Kind::kChain) {
        ShortenNames(i, kind == Column::Kind::kChain, &grid);
      }
    }
    return report::FormatGrid(std::move(grid), style_.width, style_.charset, style_.colored);
  }

 private:
  report::Column ColumnOf(const Column& column) const {
    report::Column grid = {column.head, report::Column::Kind::kText, column.drop_rank};
    switch (column.kind) {
      case Column::Kind::kNumber:
        grid.kind = report::Column::Kind::kNumber;
        break;
      case Column::Kind::kName:
        grid.cut = report::FitName;
        grid.keeps_apart = true;
        grid.least = kLeastName;
        break;
      case Column::Kind::kChain:
        grid.cut = FitChain;
        grid.keeps_apart = true;
        grid.least = kLeastName;
        break;
      case Column::Kind::kPath:
        grid.least = kLeastPlace;
        break;
      case Column::Kind::kTree:
        grid.cut = FitTreeName;
        grid.least = kLeastName;
        break;
      case Column::Kind::kCode:
        grid.cut = CutToBeginning;
        grid.least = kLeastName;
        break;
      case Column::Kind::kBar:
        grid.kind = report::Column::Kind::kBar;
        grid.least = kLeastBar;
        grid.full_bar = BarColumns(style_.width);
        break;
    }
    return grid;
  }

  report::Cell CellOf(const Cell& cell) const {
    return {Printable(cell.shown, style_.charset), cell.paint, cell.own, cell.with_callees};
  }

  // Blanks before a name show its depth in a tree.
  static void ShortenNames(size_t column, bool is_chain, report::Grid* grid) {
    std::vector<std::string> names, callers;
    for (const auto& row : grid->rows) {
      const std::string& text = row[column].text;
      const size_t end = is_chain ? EndOfName(text) : text.size();
      names.push_back(text.substr(BlanksOf(text), end - BlanksOf(text)));
      callers.push_back(text.substr(end));
    }
    names = report::ShortNames(names);
    for (size_t i = 0; i < names.size(); ++i) {
      std::string& text = grid->rows[i][column].text;
      text = text.substr(0, BlanksOf(text)) + names[i] + callers[i];
    }
  }

  const TextStyle& style_;
};

}  // namespace

std::string ToText(const Report& report, const TextStyle& style) {
  const Writer writer(style);
  std::string text = writer.Lines(report.head);
  for (const std::string& note : report.notes) {
    text += writer.Lines({{"note: " + note, Paint::kWarm}});
  }
  if (!report.picture.empty()) text += "\n" + writer.Picture(report.picture);
  for (const Table& table : report.tables) {
    if (!table.rows.empty()) text += "\n" + writer.GridOf(table);
  }
  if (!report.foot.empty()) text += "\n" + writer.Lines(report.foot);
  return text;
}

}  // namespace allomon::views
