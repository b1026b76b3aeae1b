#include "runtime/internal/space/block_space.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/internal/object/check.h"
#include "runtime/internal/space/poison.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {
namespace {

// A block with fewer free words is not searched: its gaps are not worth a look at each object.
constexpr size_t kFewestFreeWords = kBlockWords / 8;

// Larger objects do not take the gaps of the small ones.
constexpr size_t kMostSmallBytes = 128;

// Blocks in which the gap for one object is looked for.  A pause must not look into all blocks for
// objects that are larger than their gaps.
constexpr size_t kBlocksToLookInto = 8;

// A gap of one word is a hole to the sanitizer alone: no object is so small.
void PoisonGaps([[maybe_unused]] char* block) {
#ifdef ALLOMON_GC_POISONS
  Chunk* const chunk = Chunk::Of(block);
  for (char* at = block; at != block + kBlockBytes;) {
    const Chunk::Gap gap = chunk->FindGap(at, kWordBytes);
    if (gap.begin == nullptr) return;
    ALLOMON_GC_POISON(gap.begin, static_cast<size_t>(gap.end - gap.begin));
    at = gap.end;
  }
#endif
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

char* BlockSpace::PopFreeBlock() {
  ALLOMON_GC_CHECK(!free_.empty(), "inv.reserve: no free block during a minor collection");
  char* block = free_.back();
  free_.pop_back();
  Chunk* const chunk = Chunk::Of(block);
  ALLOMON_DCHECK_EQ("inv.space.lists", chunk->in_use & Chunk::BitOfBlock(block), 0);
  chunk->in_use |= Chunk::BitOfBlock(block);
  chunk->fresh |= Chunk::BitOfBlock(block);
  return block;
}

void BlockSpace::PrepareBlock(char* block, bool takes_pages) {
  ALLOMON_GC_UNPOISON(block, kBlockBytes);
  if (takes_pages) TakePages(block, kBlockBytes);
  if (marking_) Chunk::Of(block)->FillMarksOf(Chunk::BlockOf(block), 0xff);
}

char* BlockSpace::TakeFreeBlock() {
  char* const block = PopFreeBlock();
  PrepareBlock(block, !Chunk::Of(block)->NoteTouched(block));
  return block;
}

// The pages are taken without the lock: where the system must find the memory, they are the most of
// a collection's time.
char* BlockSpace::TakeFreeBlockShared() {
  char* block = nullptr;
  bool has_pages = false;
  {
    const MutexHolder hold(lanes_mutex_);
    block = PopFreeBlock();
    has_pages = Chunk::Of(block)->NoteTouched(block);
  }
  PrepareBlock(block, !has_pages);
  return block;
}

BlockSpace::Lane BlockSpace::TakeLane(size_t index) { return std::exchange(lanes_[index], {}); }
void BlockSpace::PutLane(size_t index, const Lane& lane) { lanes_[index] = lane; }

bool BlockSpace::Hole::FindGap(size_t bytes) {
  if (search == search_end) return false;
  const Chunk::Gap found = Chunk::Of(search)->FindGap(search, bytes);
  search = found.begin == nullptr ? search_end : found.end;
  cursor = gap = found.begin;
  end = found.end;
  ALLOMON_DCHECK_LE("inv.space.hole", end, search_end);
  ALLOMON_GC_UNPOISON(cursor, left_bytes());
  return gap != nullptr;
}

// Objects in a gap are found by their marks from now on.  A block is walked, up to a zero word: no
// header is 0.
void BlockSpace::Hole::Close() {
  if (gap != nullptr) {
    Chunk::Of(gap)->MarkPlaced(gap, cursor);
  } else if (cursor != end) {
    *reinterpret_cast<Word*>(cursor) = 0;
  }
}

void BlockSpace::CloseHoles() {
  for (Lane& lane : lanes_) {
    lane.hole.Close();
    lane.overflow.Close();
  }
}

// What the searches have placed in gaps gets its marks: the gaps that another search finds end
// there.
void BlockSpace::EndOverflowSearches() {
  for (Lane& lane : lanes_) {
    if (lane.overflow.gap == nullptr) continue;
    lane.overflow.Close();
    lane.overflow = {};
  }
}

// Returns a block for the small objects; nullptr if there is none.
char* BlockSpace::PopRecyclable() {
  if (recyclable_.empty()) return nullptr;
  char* const block = recyclable_.back();
  recyclable_.pop_back();
  if (overflow_next_ <= recyclable_.size()) return block;
  // Another search was in this block last, and ends here.
  overflow_next_ = recyclable_.size();
  EndOverflowSearches();
  return block;
}

// The same while other lanes are in use: their searches cannot be ended.
char* BlockSpace::PopRecyclableShared() {
  const MutexHolder hold(lanes_mutex_);
  if (overflow_next_ == recyclable_.size()) return nullptr;
  char* const block = recyclable_.back();
  recyclable_.pop_back();
  return block;
}

template <bool kShared>
char* BlockSpace::NextBlock() {
  return kShared ? TakeFreeBlockShared() : TakeFreeBlock();
}

template <bool kShared>
void BlockSpace::TakeNextHole(Lane& lane, size_t bytes) {
  lane.hole.Close();
  for (size_t looks = 0; !lane.hole.FindGap(bytes); ++looks) {
    char* block = nullptr;
    if (looks <= kBlocksToLookInto) block = kShared ? PopRecyclableShared() : PopRecyclable();
    if (block == nullptr) return lane.hole.TakeBlock(NextBlock<kShared>());
    lane.hole.BeginSearch(block);
  }
}

// Returns the next block for larger objects, which stays in the list; nullptr if there is none.
char* BlockSpace::NextToLookInto() {
  ALLOMON_DCHECK_LE("inv.space.lists", overflow_next_, recyclable_.size());
  return overflow_next_ == recyclable_.size() ? nullptr : recyclable_[overflow_next_++];
}

// Finds a gap of `bytes` in the next few blocks.  TakeNextHole() comes to the smaller ones later.
template <bool kShared>
bool BlockSpace::FindOverflowGap(Lane& lane, size_t bytes) {
  for (size_t looks = 0; !lane.overflow.FindGap(bytes); ++looks) {
    if (looks > kBlocksToLookInto) return false;
    std::optional<MutexHolder> hold;
    if (kShared) hold.emplace(lanes_mutex_);
    char* const block = NextToLookInto();
    if (block == nullptr) return false;
    lane.overflow.BeginSearch(block);
  }
  return true;
}

template <bool kShared>
char* BlockSpace::AllocateSlow(Lane& lane, size_t bytes) {
  if (bytes <= kMostSmallBytes) {
    TakeNextHole<kShared>(lane, bytes);
    return AllocateIn<kShared>(lane, bytes);
  }
  Hole& overflow = lane.overflow;
  if (bytes > overflow.left_bytes()) {
    overflow.Close();
    if (!FindOverflowGap<kShared>(lane, bytes)) overflow.TakeBlock(NextBlock<kShared>());
  }
  ALLOMON_DCHECK_LE("inv.space.hole", bytes, overflow.left_bytes());
  char* start = overflow.cursor;
  overflow.cursor += bytes;
  return start;
}

template char* BlockSpace::AllocateSlow<false>(Lane& lane, size_t bytes);
template char* BlockSpace::AllocateSlow<true>(Lane& lane, size_t bytes);

void BlockSpace::ClearMarks() {
  for (Chunk* chunk : chunks_) chunk->ClearMarks();
}

void BlockSpace::SweepBlock(char* block) {
  Chunk* const chunk = Chunk::Of(block);
  const size_t live_words = chunk->live_words[chunk->BlockOf(block)];
  ALLOMON_DCHECK_LE("inv.space.gap", live_words, kBlockWords);
  PoisonGaps(block);
  ALLOMON_DCHECK_LT("inv.space.room", free_.size() + recyclable_.size(), free_.capacity());
  chunk->in_use |= Chunk::BitOfBlock(block);
  if (live_words == 0) {
    chunk->in_use &= ~Chunk::BitOfBlock(block);
    free_.push_back(block);
  } else if (kBlockWords - live_words >= kFewestFreeWords) {
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
  for (Lane& lane : lanes_) lane = {};
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
  for (Chunk* chunk : chunks_) {
    chunk->marks_known = chunk->in_use;
    chunk->fresh = 0;
  }
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
  ALLOMON_DCHECK("inv.mark.fresh", chunk->IsFresh(block));
  chunk->FillMarksOf(chunk->BlockOf(block), 0);
}

void BlockSpace::GiveUpMarking() {
  ALLOMON_DCHECK("inv.mark.cycle", marking_);
  for (Chunk* chunk : chunks_) {
    for (size_t i = kFirstBlock; i < kBlocksPerChunk; ++i) {
      if ((chunk->fresh >> i & 1) != 0) SettleFresh(chunk->BlockAt(i));
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
  return chunk->ObjectAt(byte);
}

}  // namespace allomon::gc::internal
