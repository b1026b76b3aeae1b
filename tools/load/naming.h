// Names functions in profiles that have only addresses.
#ifndef ALLOMON_TOOLS_LOAD_NAMING_H_
#define ALLOMON_TOOLS_LOAD_NAMING_H_

#include <string>

#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

// Gives functions, files and lines to unnamed locations that lie in a mapping, by the files that
// the mappings name.  A file that is gone, or that has another build id, names nothing, and a note
// says so.  If the profile has no build ids, a note says that the names are those of the files as
// they are now.  Opens one file after the other; see CodeFile for the cost.
void NameLocations(const std::string& debug_folder, heap::HeapProfile* profile);

// Narrows mappings of whole files to those of their code, which other tools need to find functions
// in the files.  A mapping stays as it is if its file is gone or has another build id.
void NarrowMappings(heap::HeapProfile* profile);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_LOAD_NAMING_H_
