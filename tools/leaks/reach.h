// Marks the blocks of a process to which something refers: conservatively, like a garbage collector
// that knows no types.
#ifndef ALLOMON_TOOLS_LEAKS_REACH_H_
#define ALLOMON_TOOLS_LEAKS_REACH_H_

#include <cstdint>
#include <vector>

#include "tools/leaks/snapshot.h"

namespace allomon::leaks {

// The places of blocks.  Add all of them, then call Sort() once.
class Blocks {
 public:
  struct Block {
    uint64_t number;  // its place in the marks
    uint64_t begin;
    uint64_t size_bytes;
  };

  // Adds the blocks of [begin, end), each of that size; all of it is one block if that is 0.
  // Returns the number of the first one.
  uint64_t Add(uint64_t begin, uint64_t end, uint64_t block_bytes);
  void Sort();

  // Marks the block that the address lies in, also in its middle, and returns true, if there is one
  // that was not marked yet.
  bool Reach(uint64_t address, Block* block);
  bool IsReached(uint64_t number) const { return marks_[number] != 0; }

 private:
  struct Extent {
    uint64_t begin;
    uint64_t end;
    uint64_t block_bytes;
    uint64_t first;  // number of its first block
  };

  std::vector<Extent> extents_;
  std::vector<uint8_t> marks_;   // 1: reached
  uint64_t least_ = UINT64_MAX;  // addresses
  uint64_t most_ = 0;
};

// Marks blocks from roots on, through other blocks.
class Marker {
 public:
  // Both must outlive this.
  Marker(const Snapshot& snapshot, Blocks* blocks) : snapshot_(snapshot), blocks_(*blocks) {}

  void AddWord(uint64_t word) {
    Blocks::Block block;
    if (blocks_.Reach(word, &block)) work_.push_back(block);
  }
  void AddRoots(uint64_t begin, uint64_t end) {
    root_bytes_ += end - begin;
    snapshot_.VisitWords(begin, end, [this](uint64_t word) { AddWord(word); });
  }
  // Goes through reached blocks until they reach no more.
  void Finish();

  uint64_t root_bytes() const { return root_bytes_; }
  uint64_t block_bytes() const { return block_bytes_; }

 private:
  const Snapshot& snapshot_;
  Blocks& blocks_;
  std::vector<Blocks::Block> work_;
  uint64_t root_bytes_ = 0;
  uint64_t block_bytes_ = 0;
};

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_REACH_H_
