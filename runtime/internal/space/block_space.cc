#include "runtime/internal/space/block_space.h"

#include <algorithm>
#include <utility>

#include "runtime/internal/object/check.h"
#include "runtime/internal/space/poison.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {
namespace {

// A block with fewer free lines than this is not searched for holes.
constexpr size_t kFewestFreeLines = 16;

// Blocks in which the hole for one object above a line is looked for.  An overflow block takes
// three such objects at least, so the looks are some hundred cycles for each.
constexpr size_t kBlocksToLookInto = 8;

// Returns the first line from `begin` on whose mark is `mark`; `end` if there is no such line.
size_t FindLine(const uint8_t* lines, size_t begin, size_t end, int mark) {
  const void* found = memchr(lines + begin, mark, end - begin);
  return found == nullptr ? end : static_cast<size_t>(static_cast<const uint8_t*>(found) - lines);
}

size_t CountMarkedLines(const uint8_t* lines) {
  size_t marked = 0;
  for (size_t i = 0; i < kLinesPerBlock; ++i) marked += lines[i];
  return marked;
}

void PoisonFreeLines(char* block, const uint8_t* lines) {
  for (size_t i = 0; i < kLinesPerBlock; ++i) {
    if (lines[i] == 0) ALLOMON_GC_POISON(block + i * kLineBytes, kLineBytes);
  }
  static_cast<void>(block);
  static_cast<void>(lines);
}

}  // namespace

BlockSpace::~BlockSpace() {
  for (Chunk* chunk : chunks_) FreeChunkMemory(chunk);
  while (Chunk* const chunk = TakeReleased()) FreeChunkMemory(chunk);
  FreeChunks(TakeAside());
}

bool BlockSpace::AddChunk() {
  const size_t blocks = (chunks_.size() + 1) * kUsableBlocks;
  if (!TryReserve(chunks_, chunks_.size() + 1) || !TryReserve(free_, blocks) ||
      !TryReserve(recyclable_, blocks)) {
    return false;
  }
  Chunk* chunk = stock_.Take();
  if (chunk == nullptr) chunk = NewChunkMemory(WantedPages());
  if (chunk == nullptr) return false;
  chunk->ClearMarks();
  chunk->in_use = chunk->marks_known = chunk->to_sweep = 0;
  chunk->released = false;
  n_huge_chunks_ += chunk->huge;
  ALLOMON_GC_POISON(chunk->BlockAt(kFirstBlock), kUsableBlocks * kBlockBytes);
  ALLOMON_DCHECK_LT("inv.space.room", chunks_.size(), chunks_.capacity());
  chunks_.insert(std::lower_bound(chunks_.begin(), chunks_.end(), chunk), chunk);
  // Blocks are taken from the back of free_, so low addresses come first.  Blocks that were used
  // before, and so have their pages, come before new ones.
  free_.insert(free_.begin(), kUsableBlocks, nullptr);
  for (size_t i = 0; i < kUsableBlocks; ++i) free_[i] = chunk->BlockAt(kBlocksPerChunk - 1 - i);
  return true;
}

// Requests huge pages only while they hardly exceed the blocks in use.  The first chunks are the
// reserve of the next collection, which needs no memory before that collection and seldom after it.
ChunkPages BlockSpace::WantedPages() const {
  const size_t used_blocks = chunks_.size() * kUsableBlocks - free_.size();
  ALLOMON_DCHECK_LE("inv.space.lists", free_.size(), chunks_.size() * kUsableBlocks);
  const bool takes_huge = !prefers_small_pages_ && n_huge_chunks_ < kMostHugeChunks &&
                          used_blocks >= std::max<size_t>(1, n_huge_chunks_) * kUsableBlocks;
  return takes_huge ? ChunkPages::kHuge : ChunkPages::kLater;
}

char* BlockSpace::TakeFreeBlock() {
  ALLOMON_GC_CHECK(!free_.empty(), "inv.reserve: no free block during a minor collection");
  char* block = free_.back();
  free_.pop_back();
  ALLOMON_GC_UNPOISON(block, kBlockBytes);
  Chunk* const chunk = Chunk::Of(block);
  ALLOMON_DCHECK_EQ("inv.space.lists", chunk->in_use & Chunk::BitOfBlock(block), 0);
  chunk->TakePagesOf(block);
  *chunk->LinesOf(block) = kHoleLine;
  chunk->in_use |= Chunk::BitOfBlock(block);
  if (marking_) chunk->FillMarksOf(chunk->BlockOf(block), 0xff);
  return block;
}

// Finds the next run of unmarked lines in the block under hole_search_.
bool BlockSpace::FindHoleInBlock() {
  if (hole_search_ == hole_block_end_) return false;
  uint8_t* const lines = Chunk::Of(hole_search_)->LinesOf(hole_search_);
  const size_t left = static_cast<size_t>(hole_block_end_ - hole_search_) / kLineBytes;
  const size_t begin = FindLine(lines, 0, left, 0);
  const size_t end = FindLine(lines, begin, left, 1);
  ALLOMON_DCHECK_LE("inv.space.hole", begin, end);
  ALLOMON_DCHECK_LE("inv.space.hole", end, left);
  cursor_ = hole_search_ + begin * kLineBytes;
  end_ = hole_search_ + end * kLineBytes;
  hole_search_ = end_;
  ALLOMON_GC_UNPOISON(cursor_, static_cast<size_t>(end_ - cursor_));
  if (begin == end) return false;
  lines[begin] = kHoleLine;
  return true;
}

// Finds a hole of `bytes` in the next few blocks.  A smaller hole that it passes is left to objects
// of at most a line: TakeNextHole() comes to the block later, so the lines of this one must be no
// hole to it.
bool BlockSpace::FindOverflowHole(size_t bytes) {
  ALLOMON_DCHECK_LE("inv.space.lists", overflow_next_, recyclable_.size());
  for (size_t looks = 0; looks <= kBlocksToLookInto;) {
    const size_t left = static_cast<size_t>(overflow_block_end_ - overflow_search_) / kLineBytes;
    if (left * kLineBytes < bytes) {
      if (overflow_next_ >= recyclable_.size()) return false;
      overflow_search_ = recyclable_[overflow_next_++];
      overflow_block_end_ = overflow_search_ + kBlockBytes;
      ++looks;
      continue;
    }
    uint8_t* const lines = Chunk::Of(overflow_search_)->LinesOf(overflow_search_);
    const size_t begin = FindLine(lines, 0, left, kFreeLine);
    const size_t end = FindLine(lines, begin, left, kMarkedLine);
    char* const hole = overflow_search_ + begin * kLineBytes;
    overflow_search_ += end * kLineBytes;
    if ((end - begin) * kLineBytes < bytes) continue;
    memset(lines + begin, kFilledLine, end - begin);
    lines[begin] = kHoleLine;
    ALLOMON_GC_UNPOISON(hole, (end - begin) * kLineBytes);
    overflow_ = hole;
    overflow_end_ = overflow_search_;
    return true;
  }
  return false;
}

// Ends the filled part of a hole with a zero word: no header is 0, so a walk stops there.
static void CloseHole(char* cursor, const char* end) {
  if (cursor != end) *reinterpret_cast<Word*>(cursor) = 0;
}

void BlockSpace::CloseHoles() {
  CloseHole(cursor_, end_);
  CloseHole(overflow_, overflow_end_);
}

void BlockSpace::TakeNextHole() {
  CloseHole(cursor_, end_);
  while (!FindHoleInBlock()) {
    if (recyclable_.empty()) {
      cursor_ = TakeFreeBlock();
      end_ = cursor_ + kBlockBytes;
      return;
    }
    hole_search_ = recyclable_.back();
    hole_block_end_ = hole_search_ + kBlockBytes;
    recyclable_.pop_back();
    if (overflow_next_ > recyclable_.size()) {  // the other search is in this block: it ends there
      overflow_next_ = recyclable_.size();
      overflow_search_ = overflow_block_end_;
    }
  }
}

char* BlockSpace::AllocateSlow(size_t bytes) {
  if (bytes <= kLineBytes) {  // every hole has a line
    TakeNextHole();
    return Allocate(bytes);
  }
  if (bytes > static_cast<size_t>(overflow_end_ - overflow_)) {
    CloseHole(overflow_, overflow_end_);
    if (!FindOverflowHole(bytes)) {
      overflow_ = TakeFreeBlock();
      overflow_end_ = overflow_ + kBlockBytes;
    }
  }
  ALLOMON_DCHECK_LE("inv.space.hole", bytes, static_cast<size_t>(overflow_end_ - overflow_));
  char* start = overflow_;
  overflow_ += bytes;
  return start;
}

void BlockSpace::ClearMarks() {
  for (Chunk* chunk : chunks_) chunk->ClearMarks();
}

void BlockSpace::SweepBlock(char* block) {
  Chunk* const chunk = Chunk::Of(block);
  const uint8_t* lines = chunk->LinesOf(block);
  const size_t free_lines = kLinesPerBlock - CountMarkedLines(lines);
  ALLOMON_DCHECK_LE("inv.space.hole", free_lines, kLinesPerBlock);
  PoisonFreeLines(block, lines);
  ALLOMON_DCHECK_LT("inv.space.room", free_.size() + recyclable_.size(), free_.capacity());
  chunk->in_use |= Chunk::BitOfBlock(block);
  if (free_lines == kLinesPerBlock) {
    chunk->in_use &= ~Chunk::BitOfBlock(block);
    free_.push_back(block);
  } else if (free_lines >= kFewestFreeLines) {
    recyclable_.push_back(block);
  }
}

void BlockSpace::ChooseReleases(size_t keep_blocks) {
  size_t free = free_.size();
  for (size_t i = chunks_.size(); i-- > 0;) {
    if (free < keep_blocks + kUsableBlocks) break;
    Chunk* const chunk = chunks_[i];
    if (chunk->in_use != 0) continue;
    ALLOMON_DCHECK("inv.space.released", !chunk->released);
    ALLOMON_DCHECK_LE("inv.space.released", kUsableBlocks, free);
    chunk->released = true;
    chunk->next_released = std::exchange(released_, chunk);
    n_huge_chunks_ -= chunk->huge;
    free -= kUsableBlocks;
  }
  if (released_ == nullptr) return;
  const auto in_released = [](char* block) { return Chunk::Of(block)->released; };
  ALLOMON_DCHECK("inv.space.released", released_->released);
  free_.erase(std::remove_if(free_.begin(), free_.end(), in_released), free_.end());
  const auto released = [](Chunk* chunk) { return chunk->released; };
  chunks_.erase(std::remove_if(chunks_.begin(), chunks_.end(), released), chunks_.end());
}

Chunk* BlockSpace::TakeReleased() {
  if (released_ == nullptr) return nullptr;
  return std::exchange(released_, released_->next_released);
}

void BlockSpace::ForgetHoles() {
  cursor_ = end_ = overflow_ = overflow_end_ = hole_search_ = hole_block_end_ = nullptr;
  overflow_search_ = overflow_block_end_ = nullptr;
  overflow_next_ = 0;
  recyclable_.clear();
}

void BlockSpace::Sweep(size_t keep_blocks) {
  ForgetHoles();
  free_.clear();
  // Walks backwards, so that later allocations take blocks from the front and the last chunks
  // become free.  Blocks without pages are taken last.
  for (size_t c = chunks_.size(); c-- > 0;) {
    for (size_t i = kBlocksPerChunk - 1; i >= kFirstBlock; --i) {
      if (!chunks_[c]->WasTouched(i)) free_.push_back(chunks_[c]->BlockAt(i));
    }
  }
  for (size_t c = chunks_.size(); c-- > 0;) {
    for (size_t i = kBlocksPerChunk - 1; i >= kFirstBlock; --i) {
      if (chunks_[c]->WasTouched(i)) SweepBlock(chunks_[c]->BlockAt(i));
    }
  }
  ChooseReleases(keep_blocks);
}

// Chunks added during the walk have nothing to clear or sweep.
Chunk* BlockSpace::NextOfWalk() {
  const auto behind = std::lower_bound(
      chunks_.begin(), chunks_.end(), walked_,
      [](const Chunk* chunk, uintptr_t address) { return AddressOf(chunk) < address; });
  if (behind == chunks_.begin()) return nullptr;
  Chunk* const chunk = *(behind - 1);
  ALLOMON_DCHECK_LT("inv.space.walk", AddressOf(chunk), walked_);
  walked_ = AddressOf(chunk);
  return chunk;
}

void BlockSpace::BeginMarking() {
  ALLOMON_DCHECK("inv.mark.cycle", !marking_);
  CloseHoles();
  ForgetHoles();
  for (Chunk* chunk : chunks_) chunk->marks_known = chunk->in_use;
  marking_ = true;
  walked_ = UINTPTR_MAX;
}

// Free blocks have no marks.
bool BlockSpace::ClearNext() {
  Chunk* const chunk = NextOfWalk();
  if (chunk == nullptr) return false;
  for (size_t i = kFirstBlock; i < kBlocksPerChunk; ++i) {
    if ((chunk->marks_known >> i & 1) != 0) chunk->ClearMarksOf(i);
  }
  return true;
}

void BlockSpace::EndMarking() {
  ALLOMON_DCHECK("inv.mark.cycle", marking_);
  for (Chunk* chunk : chunks_) chunk->to_sweep = chunk->in_use;
  marking_ = false;
  walked_ = UINTPTR_MAX;
}

// A walk from the block's beginning finds the objects of a block taken since the last marking, as
// it finds promoted ones.
void BlockSpace::SettleFresh(char* block) {
  Chunk* const chunk = Chunk::Of(block);
  ALLOMON_DCHECK("inv.mark.fresh", chunk->IsMarked(reinterpret_cast<Object*>(block)));
  ALLOMON_DCHECK_EQ("inv.mark.fresh", CountMarkedLines(chunk->LinesOf(block)), kHoleLine);
  chunk->FillMarksOf(chunk->BlockOf(block), 0);
}

void BlockSpace::GiveUpMarking() {
  ALLOMON_DCHECK("inv.mark.cycle", marking_);
  for (Chunk* chunk : chunks_) {
    const uint64_t fresh = chunk->in_use & ~chunk->marks_known;
    for (size_t i = kFirstBlock; i < kBlocksPerChunk; ++i) {
      if ((fresh >> i & 1) != 0) SettleFresh(chunk->BlockAt(i));
    }
  }
  marking_ = false;
}

bool BlockSpace::SweepNext() {
  Chunk* const chunk = NextOfWalk();
  if (chunk == nullptr) return false;
  for (size_t i = kBlocksPerChunk - 1; i >= kFirstBlock; --i) {
    if ((chunk->to_sweep >> i & 1) == 0) continue;
    char* const block = chunk->BlockAt(i);
    if ((chunk->marks_known >> i & 1) != 0) {
      SweepBlock(block);
    } else {
      SettleFresh(block);
    }
  }
  chunk->to_sweep = 0;
  return true;
}

Chunk* BlockSpace::Find(const void* address) const {
  Chunk* const chunk = Chunk::Of(address);
  return std::binary_search(chunks_.begin(), chunks_.end(), chunk) ? chunk : nullptr;
}

Object* BlockSpace::ObjectAt(uintptr_t word) const {
  char* const byte = reinterpret_cast<char*>(word - 1);
  Chunk* const chunk = Find(byte);
  if (chunk == nullptr || byte < chunk->BlockAt(kFirstBlock)) return nullptr;
  return *chunk->LinesOf(byte) == kMarkedLine ? chunk->MarkedAt(byte) : chunk->PromotedAt(byte);
}

}  // namespace allomon::gc::internal
