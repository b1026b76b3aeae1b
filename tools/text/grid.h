// A table of cells for a terminal of some width.
#ifndef ALLOMON_TOOLS_TEXT_GRID_H_
#define ALLOMON_TOOLS_TEXT_GRID_H_

#include <string>
#include <vector>

#include "tools/text/plain_text.h"

namespace allomon::report {

enum class Paint { kPlain, kBold, kDim, kHot, kWarm, kShrunk };

// The text in colour, by the sequences of ECMA-48 (SGR).  Unchanged if not `colored`.
std::string Painted(const std::string& text, Paint paint, bool colored);

struct Column {
  // Numbers are justified right, texts and bars left.  Only texts are cut.
  enum class Kind { kNumber, kText, kBar };
  std::string head;
  Kind kind = Kind::kNumber;
  int drop_rank = 0;  // the column of the highest rank is dropped first if room lacks; 0: never
  int least = 0;      // a text or a bar is cut to that many columns before others are dropped
  // How a text is cut to so many columns.
  std::string (*cut)(const std::string& text, int columns, Charset charset) = CutToEnd;
  // Different texts that are cut to the same one get behind it what they differ in.
  bool keeps_apart = false;
  int full_bar = 0;  // the columns of a bar that stands for all
};

struct Cell {
  std::string text;  // printable; none in a bar
  Paint paint = Paint::kPlain;
  double own = 0;  // of a bar: the shares of Bar()
  double with_callees = 0;
};

struct Grid {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each has as many cells as there are columns
};

// Formats lines of at most `width` columns of a terminal (0: as wide as needed), without blanks at
// their ends.  The heads come first.  Where room lacks, the texts that could be dropped are cut,
// then bars, then the other texts; columns are dropped only if that is not enough.  If `width` is
// below some 20, lines are longer than `width`.
std::string FormatGrid(Grid grid, int width, Charset charset, bool colored);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_GRID_H_
