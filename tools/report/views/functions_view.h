// Rows by function or by line, and the stack that allocated most of the top row.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_FUNCTIONS_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_FUNCTIONS_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/heap/rows.h"
#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "functions" or "lines", and the heaviest stack of its first row.
void AddFunctions(const Scene& scene, heap::RowKey key, Report* report);

// Adds a title and the frames of a stack, innermost first, one per line.
void AddStack(const Scene& scene, uint32_t stack, const std::string& title,
              std::vector<TextLine>* lines);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_FUNCTIONS_VIEW_H_
