// The contents of a view, before they become text, JSON or CSV.
//
// Texts may contain any bytes: the writers escape them for their readers.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_TABLE_H_
#define ALLOMON_TOOLS_REPORT_TABLE_TABLE_H_

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tools/text/grid.h"

namespace allomon::views {

using report::Paint;

// A value for programs: nothing, a text, a number or a boolean.
using Data = std::variant<std::monostate, std::string, double, bool>;

struct Cell {
  std::string shown;  // for people
  Data data;          // for programs
  Paint paint = Paint::kPlain;
  double own = 0;  // own share of a bar; then with callees
  double with_callees = 0;
};

struct Column {
  enum class Kind {
    kNumber,
    kName,   // a function: shortened as a name
    kChain,  // a name and its callers, "f < g < main": the farthest are cut first
    kPath,   // shortened to its end
    kTree,   // a name after blanks, which stay
    kCode,   // shortened to its beginning
    kBar,
  };
  std::string key;   // for programs; empty: left out
  std::string head;  // for people; empty: left out, unless it is a bar
  Kind kind = Kind::kNumber;
  int drop_rank = 0;  // as in report::Column
};

struct Table {
  std::string key;  // such as "functions"
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // each has as many cells as the table has columns
  size_t left_out = 0;                  // rows that the user did not ask for
  bool ends_in_rest = false;            // the last row stands for these, for people alone

  void AddRest(std::vector<Cell> row, size_t rows_in_it) {
    rows.push_back(std::move(row));
    left_out = rows_in_it;
    ends_in_rest = true;
  }
  // The rows for programs.
  size_t DataRows() const { return rows.size() - (ends_in_rest ? 1 : 0); }
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
  std::vector<TextLine> picture;  // a plot, which is not wrapped
  std::vector<Table> tables;
  std::vector<TextLine> foot;
  std::vector<std::string> notes;  // for people and programs
  std::vector<std::string> next;   // for programs: commands of a shell that show more
};

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_TABLE_H_
