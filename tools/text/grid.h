// Formats a table of cells for a terminal of some width.
#ifndef ALLOMON_TOOLS_TEXT_GRID_H_
#define ALLOMON_TOOLS_TEXT_GRID_H_

#include <string>
#include <vector>

#include "tools/text/plain_text.h"

namespace allomon::report {

enum class Paint { kPlain, kBold, kDim, kHot, kWarm, kShrunk };

// Returns the text in colour, by the sequences of ECMA-48 (SGR); unchanged if not `colored`.
std::string Painted(const std::string& text, Paint paint, bool colored);

struct Column {
  // Numbers are right-justified, texts and bars left-justified.  Only texts are cut.
  enum class Kind { kNumber, kText, kBar };
  std::string head;
  Kind kind = Kind::kNumber;
  int drop_rank = 0;  // the column of the highest rank is dropped first when the grid is too wide;
                      // 0: never
  int least = 0;      // a text or a bar is cut to that many columns before others are dropped
  // Cuts a text to a number of columns.
  std::string (*cut)(const std::string& text, int columns, Charset charset) = CutToEnd;
  // If different texts are cut to the same one, the part by which they differ is appended.
  bool keeps_apart = false;
  int full_bar = 0;  // the columns of a bar of 100 %
};

struct Cell {
  std::string text;  // printable; empty for a bar
  Paint paint = Paint::kPlain;
  double own = 0;  // for a bar: the shares of Bar()
  double with_callees = 0;
};

struct Grid {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each has as many cells as the grid has columns
};

// Formats lines of at most `width` columns of a terminal (0: as wide as needed), without blanks at
// their ends.  The heads come first.  If the grid is too wide, droppable texts are cut, then bars,
// then the other texts; columns are dropped only if that is not enough.  If `width` is below about
// 20, lines are longer than `width`.
std::string FormatGrid(Grid grid, int width, Charset charset, bool colored);

// Returns a bar of up to `columns` characters.  Shares are limited to [0, 1].  `own` is drawn
// solid, and the rest of `with_callees` light.  Lengths are rounded to characters, or to eighths of
// them if the bar has one share only.  A bar for any share above 0 is visible.
std::string Bar(double own, double with_callees, int columns, Charset charset);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_GRID_H_
