// Blocks by their C++ type: a row for each type in each kind of holder.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_TYPES_VIEW_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_TYPES_VIEW_H_

#include "tools/report/table/scene.h"
#include "tools/report/table/table.h"

namespace allomon::views {

// Adds the table "types".  Blocks of unknown type have a row for each function that is charged.
void AddTypes(const Scene& scene, Report* report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_TYPES_VIEW_H_
