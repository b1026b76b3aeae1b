// Joins several profiles into one, and takes one from a later one.
#ifndef ALLOMON_TOOLS_HEAP_JOIN_H_
#define ALLOMON_TOOLS_HEAP_JOIN_H_

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// Appends the stacks and samples of `other` to those of `joined`, and nothing else.
void AppendSamples(const HeapProfile& other, HeapProfile* joined);

// Adds another process's profile of the same program.  The sum has the metrics that both have, and
// no timeline.  If the rates differ, the sum has no rate, and a note says so.
void AddProfile(const HeapProfile& other, HeapProfile* sum);

// Leaves in `profile` what happened since `before`, an earlier profile of the same processes: of
// allocated and temporary blocks those of the time between, of live blocks all.  Other metrics, and
// lifetimes, are not known of a part of the time, and are left out.  No amount is below 0.
void KeepSince(const HeapProfile& before, HeapProfile* profile);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_JOIN_H_
