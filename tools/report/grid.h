// A table of cells for a terminal of some width.
#ifndef ALLOMON_TOOLS_REPORT_GRID_H_
#define ALLOMON_TOOLS_REPORT_GRID_H_

#include <string>
#include <vector>

#include "tools/text/plain_text.h"

namespace allomon::report {

enum class Paint { kPlain, kBold, kDim, kHot, kWarm, kShrunk };

// The text in colour, by the standard's sequences (ECMA-48: SGR); as it is if not `colored`.
std::string Painted(const std::string& text, Paint paint, bool colored);

struct Column {
  enum class Kind { kNumber, kText, kBar };  // to the right, the left, the left; texts are cut
  std::string head;
  Kind kind = Kind::kNumber;
  int drop_rank = 0;  // where room lacks the highest goes first; 0: stays
  int least = 0;      // of a text: it is cut to that many columns before others go
};

struct Cell {
  std::string text;  // printable
  Paint paint = Paint::kPlain;
};

struct Grid {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each as long as the columns
};

// Lines of at most `width` columns of a terminal (0: as wide as it takes), the heads first,
// without blanks at their ends.  Texts lose their beginnings before columns go; below
// some 20 columns lines are longer than that.
std::string FormatGrid(Grid grid, int width, Charset charset, bool colored);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_GRID_H_
