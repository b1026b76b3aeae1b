// Labels that no program sets: facts that are computed for a block take their form, so that all
// views can break memory down by them.
#ifndef ALLOMON_TOOLS_HEAP_COMPUTED_LABEL_H_
#define ALLOMON_TOOLS_HEAP_COMPUTED_LABEL_H_

#include <string>
#include <string_view>

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// "malloc", "custom": for people and for programs.  Without blanks: in names of functions, the text
// before one may be cut.
std::string_view SourceName(Source source);

// Adds the label `key` to samples if it is one that is computed: kTypeKey or kSourceKey (labels.h).
// Of a profile that tells no sample's source, no sample gets a kSourceKey.
void AddComputedLabel(const std::string& key, HeapProfile* profile);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_COMPUTED_LABEL_H_
