// Live blocks that have outlived their scope of labels.
//
// All are functions of their arguments.
#ifndef ALLOMON_TOOLS_HEAP_OUTLIVED_H_
#define ALLOMON_TOOLS_HEAP_OUTLIVED_H_

#include <string>

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// A choice of blocks that outlived scopes.
struct Outlived {
  bool is_asked = false;  // false: all blocks
  std::string key;        // scopes of this label; empty: of any
};

// Keeps the live blocks of ended scopes: the profile then has no other metric, no threads and
// no timeline, and ages are the times since the ends.  A note says so.  A block of several such
// scopes counts once: for the innermost one, or for that of the key.
//
// Returns one line, and changes nothing, if the profile tells no end of a scope.  Else an empty
// text.  A key that no sample has is a note: scopes of it may have had no sampled blocks.
std::string KeepOutlived(const Outlived& outlived, HeapProfile* profile);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_OUTLIVED_H_
