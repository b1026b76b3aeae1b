// The notes by which Allomon is found in a process (formats/process_map.h).
#ifndef ALLOMON_TOOLS_EXPLAIN_NOTES_H_
#define ALLOMON_TOOLS_EXPLAIN_NOTES_H_

#include <cstdint>
#include <vector>

#include "tools/explain/mappings.h"
#include "tools/explain/process.h"

namespace allomon::explain {

// The addresses that notes of that type lead to, at most one of each module.  Nothing is known of
// the memory there.
std::vector<uint64_t> FindNotes(const ProcessFile& memory, const std::vector<Mapping>& mappings,
                                uint32_t type);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_NOTES_H_
