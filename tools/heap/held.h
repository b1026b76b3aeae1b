// Sums over the sampled blocks of a running process: the bytes that they hold of their pages, and
// those that they never used.
//
// All are functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_HELD_H_
#define ALLOMON_TOOLS_HEAP_HELD_H_

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::heap {

// The sum of `bytes_each` over the blocks that one sampled block stands for.  The variance is that
// of independent blocks, of which one in `weight` is seen.
Estimate SumOver(double weight, double bytes_each, bool is_whole);

// The bytes that blocks with this one's probability hold, if each holds as much as this one does.
Estimate HeldBy(const HeldCell& cell, bool is_whole);

// The sum over the sample's blocks; nothing for one without such blocks.
Estimate HeldBy(const Sample& sample, bool is_whole);

// The sum of the bytes that were never used, over the sample's blocks with contents that were seen.
Estimate UnusedBy(const Sample& sample, bool is_whole);

// Objects of an interpreter up to this size may lie in arenas of its own, unless they are sampled.
inline constexpr uint64_t kMostArenaBytes = 512;
// Whether an interpreter is on the stack.
bool MayBeInArena(const HeapProfile& profile, const Sample& sample);

// Gives blocks that would lie in an arena the weight 1: they are on pages only since they were
// sampled.
void WeighArenas(HeapProfile* profile);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_HELD_H_
