// Names functions in profiles that have only addresses.
#ifndef ALLOMON_TOOLS_LOAD_NAMING_H_
#define ALLOMON_TOOLS_LOAD_NAMING_H_

#include <string>

#include "tools/heap/heap_profile.h"
#include "tools/symbols/name_sources.h"

namespace allomon::interchange {

// Code that has no build id is left alone, or is named by the file at its mapping's path, as that
// file is now.
enum class Unidentified { kLeave, kNameAsItIs };

// Gives functions, files and lines to unnamed locations that lie in a mapping, as CodeNamer has
// them; a location counts as unnamed, too, if its only name is "<file name>+0x<address>".  A file
// that is gone, or that has another build id, names nothing, and a note says so.  Another note says
// if files named code without build ids.  One file is open at a time; see CodeFile for the cost.
void NameLocations(const NameSources& sources, Unidentified unidentified,
                   heap::HeapProfile* profile);

// Narrows mappings of whole files to those of their code, which other tools need to find functions
// in the files.  A mapping stays as it is if its file is gone or has another build id, and no pack
// knows it.
void NarrowMappings(const NameSources& sources, heap::HeapProfile* profile);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_LOAD_NAMING_H_
