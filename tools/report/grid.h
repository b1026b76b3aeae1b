// A table of cells for a terminal of some width.
#ifndef ALLOMON_TOOLS_REPORT_GRID_H_
#define ALLOMON_TOOLS_REPORT_GRID_H_

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
  int least = 0;      // a text is cut to that many columns before others are dropped
};

struct Cell {
  std::string text;  // printable
  Paint paint = Paint::kPlain;
};

struct Grid {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each has as many cells as there are columns
};

// Formats lines of at most `width` columns of a terminal (0: as wide as needed), without blanks at
// their ends.  The heads come first.  Texts lose their beginnings before columns are dropped.  If
// `width` is below some 20, lines are longer than `width`.
std::string FormatGrid(Grid grid, int width, Charset charset, bool colored);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_GRID_H_
