// The memory that CPython keeps for objects of up to 512 bytes, read from outside of the process.
#ifndef ALLOMON_TOOLS_EXPLAIN_PYTHON_ARENAS_H_
#define ALLOMON_TOOLS_EXPLAIN_PYTHON_ARENAS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/explain/heap_blocks.h"
#include "tools/explain/mappings.h"
#include "tools/explain/process.h"

namespace allomon::explain {

// Whether the path is that of CPython's program or library.
bool IsPython(std::string_view path);

// A pool of an arena: its objects all have one size class.
struct PythonPool {
  uint64_t begin;
  uint64_t end;
  uint64_t first_block;  // blocks that were in use at some time follow each other from here on
  uint64_t blocks_end;
  uint32_t block_bytes;
  uint32_t live_blocks;
};

// Returns the pools in the memory of a process, in the order of their addresses; an empty list if
// it does not run CPython.  `known` areas are sorted, and are not searched.
std::vector<PythonPool> FindPythonPools(const ReadMemory& read,
                                        const std::vector<Mapping>& mappings,
                                        const std::vector<Area>& known);

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
