// What a view shows, before it is text, JSON or CSV.
//
// Texts may hold any bytes: the writers make them harmless for their readers.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_TABLE_H_
#define ALLOMON_TOOLS_REPORT_TABLE_TABLE_H_

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tools/text/grid.h"

namespace allomon::views {

using report::Paint;

// For programs: nothing, a text, a number or a truth.
using Data = std::variant<std::monostate, std::string, double, bool>;

struct Cell {
  std::string shown;  // to people
  Data data;          // to programs
  Paint paint = Paint::kPlain;
  double own = 0;  // of a bar: its shares
  double with_callees = 0;
};

struct Column {
  enum class Kind {
    kNumber,
    kName,  // of a function: cut as such
    kPath,  // cut to its end
    kTree,  // a name behind blanks, which stay
    kCode,  // cut to its beginning
    kBar,
  };
  std::string key;   // for programs; empty: they do not get it
  std::string head;  // for people; empty: they do not see it, unless it is a bar
  Kind kind = Kind::kNumber;
  int drop_rank = 0;  // as in report::Column
};

struct Table {
  std::string key;  // "functions"
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each has as many cells as there are columns
};

struct TextLine {
  std::string text;
  Paint paint = Paint::kPlain;
};

struct Fact {
  std::string key;
  Data data;
};

struct Report {
  std::vector<Fact> facts;        // for programs
  std::vector<TextLine> head;     // for people
  std::vector<TextLine> picture;  // a plot: not wrapped
  std::vector<Table> tables;
  std::vector<TextLine> foot;
  std::vector<std::string> notes;  // for both
};

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_TABLE_H_
