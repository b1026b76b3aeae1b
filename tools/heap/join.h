// Several profiles as one.
#ifndef ALLOMON_TOOLS_HEAP_JOIN_H_
#define ALLOMON_TOOLS_HEAP_JOIN_H_

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// Adds the stacks and samples of `other` behind those of `joined`; nothing else of it.
void AppendSamples(const HeapProfile& other, HeapProfile* joined);

// Adds another process's profile of the same program.  The sum has the metrics that both have, and
// no timeline.  Profiles of different rates give a sum without a rate, and a note that says so.
void AddProfile(const HeapProfile& other, HeapProfile* sum);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_JOIN_H_
