// Ages of blocks, and the estimates that blocks stand for.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_AGES_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_AGES_H_

#include <cstdint>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tracker/formats/recording.h"

namespace allomon::recording {

heap::Amount AmountOf(const Sum& sum);

// True if the sampler counted one word more than the bytes of the row's blocks.  The bytes of
// managed blocks include the header word, and custom memory has no header.
bool HasHeader(const Process::Row& row);

// Returns the estimate for one sampled block of the row: the block divided by its probability of
// being sampled.
heap::Amount WeightOf(uint64_t size_bytes, const Process::Row& row, double rate);

heap::AgeCell LifetimeOf(const Process::Event& event);
// Returns the age of a live block at the process's last sample or death.
heap::AgeCell AgeOf(const Process& process, const LiveBlock& block);

// Sorts the cells, and merges cells of the same age.
void Merge(std::vector<heap::AgeCell>* cells);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_AGES_H_
