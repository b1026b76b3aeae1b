// The notes by which Allomon is found in a process (formats/process_map.h), and the extents of its
// modules: what their ELF headers say, as they are mapped.
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

// An executable or a library, as it was loaded.
struct Module {
  uint64_t begin = 0;  // its first byte
  uint64_t end = 0;    // of its last page, with the data that begins as zero
};

// The modules that have code, in the order of their addresses.  Those that cannot be read are left
// out.
std::vector<Module> FindModules(const ProcessFile& memory, const std::vector<Mapping>& mappings);

}  // namespace allomon::explain

#endif  // ALLOMON_TOOLS_EXPLAIN_NOTES_H_
