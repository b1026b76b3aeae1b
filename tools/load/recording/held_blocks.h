// Live blocks of a recording that lie on their ordinary pages, and what each holds of its page.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_HELD_BLOCKS_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_HELD_BLOCKS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "tools/heap/heap_profile.h"
#include "tracker/formats/recording_process.h"

namespace allomon::recording {

struct Held {
  double block_bytes = 0;  // of the block, with what its size class adds
  double held_bytes = 0;   // of the page's free blocks
  double one_in = 1;       // one of so many samples stays on its page
};
// Returns nothing for blocks that lie elsewhere.  `number` counts from 1.
using FindHeld = std::function<std::optional<Held>(const Process& process, uint32_t number)>;

// Returns the cell of a live block.  A sample lies on a page only if it stays there, so of the
// blocks on pages that are sampled with the probability p, one in p / N / (1 - p + p / N) is a
// sample in place, if one of N samples stays: the block stands for N / p - N + 1.
heap::HeldCell HeldCellOf(const Process& process, const LiveBlock& block, const Held& held);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_HELD_BLOCKS_H_
