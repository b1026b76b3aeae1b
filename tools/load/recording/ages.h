// Ages of blocks, and the amounts that they stand for.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_AGES_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_AGES_H_

#include <cstdint>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tracker/formats/recording.h"

namespace allomon::recording {

heap::Amount AmountOf(const Sum& sum);

// Whether the blocks of a row were tried by a word more than their bytes have.  The bytes of
// managed blocks have the header word in them, and custom memory has none.
bool HasHeader(const Process::Row& row);

// What one sampled block of the row counts for: itself, divided by the probability that it is
// sampled.
heap::Amount WeightOf(uint64_t size_bytes, const Process::Row& row, double rate);

heap::AgeCell LifetimeOf(const Process::Event& event);
// How old a live block is when the recording is read.
heap::AgeCell AgeOf(const Process& process, const LiveBlock& block);

// Sorts the cells, and makes one of those of the same age.
void Merge(std::vector<heap::AgeCell>* cells);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_AGES_H_
