// The memory that CPython keeps for objects of up to 512 bytes, read from outside of the process.
#ifndef ALLOMON_TOOLS_EXPLAIN_PYTHON_ARENAS_H_
#define ALLOMON_TOOLS_EXPLAIN_PYTHON_ARENAS_H_

#include <vector>

#include "tools/explain/heap_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"

namespace allomon::explain {

// Adds the pools of Python's arenas: 16 KiB each, aligned, with a header that says how many blocks
// of which size are in use, as CPython has had them from 3.10 on.  Arenas of earlier versions and
// of free-threaded builds are not found.  Does nothing unless a file named python or libpython is
// mapped.  Cost: a read for every 16 KiB of anonymous memory that is resident.
void AddPythonArenas(const Process& process, const std::vector<Mapping>& mappings,
                     std::vector<Area>* areas);

// The same for any process.
void AddPythonPools(const Process& process, const std::vector<Mapping>& mappings,
                    std::vector<Area>* areas);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_PYTHON_ARENAS_H_
