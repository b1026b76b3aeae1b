// Names for profiles that have addresses alone.
#ifndef ALLOMON_TOOLS_LOAD_NAMING_H_
#define ALLOMON_TOOLS_LOAD_NAMING_H_

#include <string>

#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

// Gives functions, files and lines to the locations without any that lie in a mapping, by the files
// that the mappings name.  A file that is gone or that has another build id names nothing, and adds
// a note.  Where the profile has no build ids a note says that nobody can know whether the files
// are still the same.  Opens one file after the other; see CodeFile for the cost.
void NameLocations(const std::string& debug_folder, heap::HeapProfile* profile);

// Mappings of whole files become those of their code, which other readers need to find functions in
// the files.  Those whose file is gone, or has another build id, stay.
void NarrowMappings(heap::HeapProfile* profile);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_LOAD_NAMING_H_
