// Marks the blocks of a process to which something refers: conservatively, like a garbage collector
// that knows no types.
#ifndef ALLOMON_TOOLS_LEAKS_REACH_H_
#define ALLOMON_TOOLS_LEAKS_REACH_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "tools/leaks/snapshot.h"
#include "tools/pages/object_types.h"

namespace allomon::leaks {

// The places of blocks.  Add all of them, then call Sort() once.
class Blocks {
 public:
  struct Block {
    uint64_t number;  // its place in the marks
    uint64_t begin;
    uint64_t size_bytes;
    bool is_object = false;  // in an arena of CPython
  };

  // Adds the blocks of [begin, end), each of that size; all of it is one block if that is 0.
  // Returns the number of the first one.
  uint64_t Add(uint64_t begin, uint64_t end, uint64_t block_bytes, bool are_objects = false);
  void Sort();

  // Finds the block that the address lies in, also in its middle; false if there is none.
  bool Find(uint64_t address, Block* block) const;
  // The origin from which a block was reached.  A search goes through blocks with smaller marks.
  enum class Mark : uint8_t { kNone, kLost, kLostAgain, kRoot };
  // Finds the block, marks it, and returns false if it had the mark or a larger one.
  bool Reach(uint64_t address, Mark mark, Block* block);
  bool IsReached(uint64_t number) const { return marks_[number] == Mark::kRoot; }
  uint64_t count() const { return marks_.size(); }

 private:
  struct Extent {
    uint64_t begin;
    uint64_t end;
    uint64_t block_bytes;
    uint64_t first;  // number of its first block
    bool are_objects;
  };

  std::vector<Extent> extents_;
  std::vector<Mark> marks_;
  uint64_t least_ = UINT64_MAX;  // addresses
  uint64_t most_ = 0;
};

// Marks blocks from roots on, through other blocks, in the order of their distance from the roots.
class Marker {
 public:
  // The place of a word that lies in a register.
  static constexpr uint64_t kRegister = 1;
  // The place of a word in an object of CPython that no root has reached: of a cycle, for instance,
  // that is garbage and not collected yet.
  static constexpr uint64_t kUnreachedObject = 2;

  // Both must outlive this.
  Marker(const Snapshot& snapshot, Blocks* blocks) : snapshot_(snapshot), blocks_(*blocks) {}

  // Call before anything else, to have Referrer().  Cost: 8 bytes for each block.
  void KeepReferrers() { referrers_.resize(blocks_.count()); }

  // `place` is the word's address, or kRegister.
  void AddWord(uint64_t word, uint64_t place, bool is_of_object = false) {
    if (types_ == nullptr || !IsCollectorLink(word, place, is_of_object)) Reach(word, place);
  }
  uint64_t AddRegisters(const std::vector<uint64_t>& words) {
    const size_t before = work_.size();
    for (const uint64_t word : words) AddWord(word, kRegister);
    return work_.size() - before;
  }
  // Returns the number of blocks that no root before these words has referred to.
  uint64_t AddRoots(uint64_t begin, uint64_t end) {
    root_bytes_ += end - begin;
    const size_t before = work_.size();
    AddWords(begin, end);
    return work_.size() - before;
  }
  // Goes through reached blocks until they reach no more.
  void Finish();

  // ---- Objects of CPython, whose words do not all refer to others.

  // Passes over words that refer to nothing, and over those by which CPython's collector links all
  // objects that it knows: they lead from each object to others with which it has nothing to do.
  // `types` must outlive this.
  void TellObjects(pages::PythonTypes* types) { types_ = types; }
  // Takes these words as roots with the place kUnreachedObject; with `links_alone`, the
  // collector's.
  void AddUnreachedObjects(uint64_t begin, uint64_t end, bool links_alone) {
    snapshot_.VisitWords(begin, end, [&](uint64_t word, uint64_t place) {
      if (!links_alone || IsCollectorLink(word, place, true)) Reach(word, kUnreachedObject);
    });
  }

  // The place of the word by which a block was reached first, so that a way back from block to
  // block is a shortest one; 0 if it was not.
  uint64_t Referrer(uint64_t number) const { return referrers_[number]; }

  uint64_t root_bytes() const { return root_bytes_; }
  uint64_t block_bytes() const { return block_bytes_; }

 private:
  void AddWords(uint64_t begin, uint64_t end) {
    snapshot_.VisitWords(begin, end,
                         [this](uint64_t word, uint64_t place) { AddWord(word, place); });
  }

  void Reach(uint64_t word, uint64_t place) {
    Blocks::Block block;
    if (ReachAlone(word, place, &block)) work_.push_back(block);
  }
  // The block's own words are not looked at.
  bool ReachAlone(uint64_t word, uint64_t place, Blocks::Block* block) {
    if (!blocks_.Reach(word, Blocks::Mark::kRoot, block)) return false;
    if (!referrers_.empty()) referrers_[block->number] = place;
    return true;
  }
  void AddWordsOfObject(const Blocks::Block& block);
  bool IsCollectorLink(uint64_t word, uint64_t place, bool is_of_object) const;

  const Snapshot& snapshot_;
  Blocks& blocks_;
  pages::PythonTypes* types_ = nullptr;
  std::deque<Blocks::Block> work_;
  std::vector<uint64_t> referrers_;
  uint64_t root_bytes_ = 0;
  uint64_t block_bytes_ = 0;
};

// Returns for each of the lost blocks whether no other one of them leads to it, also through lost
// blocks that are not among them.  Of blocks that lead to each other, such as a ring, one counts as
// such.  Call after Marker::Finish(), once.
std::vector<bool> FindDirectlyLost(const Snapshot& snapshot, const std::vector<Blocks::Block>& lost,
                                   Blocks* blocks);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_REACH_H_
