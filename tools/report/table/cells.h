// Cells that several views use: names, places, and estimates with their intervals and shares.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_CELLS_H_
#define ALLOMON_TOOLS_REPORT_TABLE_CELLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// The order in which columns are dropped when the table is too wide: the largest rank first.
enum DropRank { kStays = 0, kDropShare, kDropPlace, kDropRange, kDropTotal, kDropBar };

Cell TextCell(const std::string& text, Paint paint = Paint::kPlain);
Cell NumberCell(const std::string& shown, double number, Paint paint = Paint::kPlain);
Cell DataCell(Data data);

// Returns "file.cc:12", "file.cc", or "".
std::string PlaceOf(const heap::Stacks& stacks, uint32_t frame);

// Returns a function's name for a line of text: shortened, unless the user asks for all of it
// (--width=0).
std::string NameInText(const Scene& scene, uint32_t frame);

// Adds columns for the function and its place, and for programs file and line.
void AddNameColumns(Table* table);
void AddNameCells(const heap::Stacks& stacks, uint32_t frame, bool sure, std::vector<Cell>* row);

// Columns of an estimate: amount, interval, share of `whole`.  `key` begins their keys: "self"
// gives "self", "self_low", "self_high", "self_sure", "self_percent".
struct AmountStyle {
  std::string key;
  std::string head;        // head of the amount's column
  std::string share_head;  // empty: no share is shown
  bool blocks = false;
  bool has_range = false;  // shown to people; programs get it always
  int drop_rank = kStays;
};
// The metric's bytes and blocks, of rows that are classes or names.
AmountStyle BytesStyle(const Scene& scene);
AmountStyle BlocksStyle(const Scene& scene);
inline constexpr size_t kAmountColumns = 6;
void AddAmountColumns(const AmountStyle& style, Table* table);
void AddAmountCells(const AmountStyle& style, const heap::Estimate& estimate, double whole,
                    std::vector<Cell>* row);

// Returns red from 10 % on, and yellow from 1 % on.
Paint PaintOf(double percent);

// Returns "12 more functions".
std::string MoreText(size_t count, const std::string& what);

// Returns a line about rows that are not shown, of a table without a row for their sum.
TextLine LeftOutText(size_t count, const std::string& what);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_CELLS_H_
