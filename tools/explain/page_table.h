// The blocks in a process's heap of mimalloc 3, found by its table of pages.
#ifndef ALLOMON_TOOLS_EXPLAIN_PAGE_TABLE_H_
#define ALLOMON_TOOLS_EXPLAIN_PAGE_TABLE_H_

#include <vector>

#include "tools/explain/heap_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"
#include "tracker/formats/process_map.h"

namespace allomon::explain {

// Adds the pages, and what else is in the arenas of these pages: the allocator's own slices, and
// free ones.  If the process runs meanwhile, pages that change are missing or are free ones; a page
// may overlap another (MakeDisjoint).  Returns false if there is no table, if it cannot be read, or
// if it is larger than that of any heap. Cost: 8 bytes are read for each slice that is mapped, and
// a header for each page.
bool AddPagesOfTable(const ProcessFile& memory, const std::vector<Mapping>& mappings,
                     const process_map::PageTable& table, std::vector<Area>* areas);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_PAGE_TABLE_H_
