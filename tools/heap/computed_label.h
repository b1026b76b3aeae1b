// Labels that no program sets: facts that are computed for a block take their form, so that all
// views can break memory down by them.
#ifndef ALLOMON_TOOLS_HEAP_COMPUTED_LABEL_H_
#define ALLOMON_TOOLS_HEAP_COMPUTED_LABEL_H_

#include <string>
#include <string_view>

#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"

namespace allomon::heap {

// "malloc", "custom": for people and for programs.  Without blanks: in names of functions, the text
// before one may be cut.
std::string_view SourceName(Source source);

// Adds the label `key` to samples if it is one that is computed: kTypeKey or kSourceKey (labels.h).
// Of a profile that tells no sample's source, no sample gets a kSourceKey.
void AddComputedLabel(const std::string& key, HeapProfile* profile);

// Keeps the chosen part of a profile for a command: the live blocks born in a time, those that
// outlived a scope, the selected labels; and adds the values of the label or of what is computed,
// `by`, unless that is empty, as outermost frames.  Returns one line if the profile has no such
// thing, else an empty text.
std::string KeepChosen(const Born& born, const Outlived& outlived, const LabelSelection& labels,
                       const std::string& by, HeapProfile* profile);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_COMPUTED_LABEL_H_
