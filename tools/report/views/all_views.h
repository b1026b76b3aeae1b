// The views, each of which adds its tables to a report.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_ALL_VIEWS_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_ALL_VIEWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/heap/rows.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// ---- The view of live memory by age.

// Adds the table "ages", with a row for each factor of two of the age, and "ages_by_bytes", with
// rows by the bytes that the block's thread has allocated since.  Fails with one line if no age is
// known.
absl::Status AddAges(const Scene& scene, Report* report);

// ---- Rows by function or by line, and the stack that allocated most of the top row.

// Adds the table "functions" or "lines", and the heaviest stack of its first row.
void AddFunctions(const Scene& scene, heap::RowKey key, Report* report);

// Adds a title and the frames of a stack, innermost first, one per line.
void AddStack(const Scene& scene, uint32_t stack, const std::string& title,
              std::vector<TextLine>* lines);

// ---- Rows by the value of a label.

// Adds the table "labels".  Each row is a value of Options::by_label, with the measure's metric and
// with those of live, peak and allocated that the profile has.
void AddLabels(const Scene& scene, Report* report);

// ---- The view of lifetimes: of all freed blocks, and by function.

// Adds the tables "functions" and "lifetimes".  Fails with one line if no lifetime is known.
absl::Status AddLifetimes(const Scene& scene, Report* report);

// ---- Rows by the module that charged functions are in.

// Adds the table "modules", with a row for each file of code, one for interpreted functions, and
// one for frames of unknown modules.
void AddModules(const Scene& scene, Report* report);

// ---- Free memory in pages of the heap, and the live blocks that keep it there.

// Adds the table "pages", with a row for each line that is charged and each set of labels, or for
// each value of Options::by_label.  Fails with one line if the profile has no pages.
absl::Status AddPages(const Scene& scene, Report* report);

// ---- Blocks by their size: a row for each power of two.

// Adds the table "sizes".  Fails with one line if no sample has a size.
absl::Status AddSizes(const Scene& scene, Report* report);

// ---- The view of a function's source, with amounts beside its lines.

// Adds the table "source".  options.source names the function: its whole name, the name without
// arguments and parameters, or the end of that after "::".  Its file is read from the path in the
// profile, else from below the current folder.  Fails with one line that names the places that were
// searched.
absl::Status AddSource(const Scene& scene, Report* report);

// ---- The view of threads: allocated and live bytes of each, and the error of its estimate.

// Adds the table "threads".  Threads of one name are one row.  If samples name their threads, rows
// count the chosen stacks and metric; otherwise all stacks.  Fails with one line if no thread is
// known.
absl::Status AddThreads(const Scene& scene, Report* report);

// ---- The view of live bytes over time, as a plot of characters.

// Adds the plot, `columns` wide, with the peak marked, and for programs the table "timeline".
// Fails with one line if the profile has no timeline.
absl::Status AddTimeline(const Scene& scene, int columns, Report* report);

// ---- The views of call trees: from the program's start towards callees, or from allocating
// functions towards callers.

// Adds the table "tree" or "callers".  If it has too many nodes, the largest are shown.  For
// people, nodes in a chain that have one caller and one callee each, and no own amount, share a
// line.
void AddTree(const Scene& scene, heap::Direction direction, Report* report);

// ---- Memory that was asked for and is not used.

// Adds the table "rounding_sites", lines by what size classes add to their live blocks, and
// "growth_sites", lines by what was copied where buffers grew.  Fails with one line if the measure
// is not live bytes, or if no exact size of a live block is known.
absl::Status AddUnused(const Scene& scene, Report* report);

// ---- Blocks by their C++ type: a row for each type in each kind of holder.

// Adds the table "types".  Blocks of unknown type have a row for each function that is charged.
void AddTypes(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_ALL_VIEWS_H_
