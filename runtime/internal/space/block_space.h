// The old space of objects up to 8 KiB: mark-region.  Objects are placed by bumping a cursor
// through holes: a free block, or a gap between objects of a block that the last marking found
// alive.  A larger object that does not fit does not waste the rest of the hole: it goes to a
// second hole, which is one large enough in the next few blocks, or else a free block.
//
// See "Old space" in runtime/README.md.
//
// Used only while the world is stopped, except where stated.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_BLOCK_SPACE_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_BLOCK_SPACE_H_

#include <cstddef>
#include <utility>

#include "runtime/internal/space/chunk.h"
#include "runtime/internal/space/chunk_stock.h"
#include "runtime/internal/space/memory.h"

namespace allomon::gc::internal {

class BlockSpace {
  // A place that objects fill, and the search for the next one in its block.
  struct Hole {
    char* cursor = nullptr;
    char* end = nullptr;
    char* gap = nullptr;     // where it begins, if it is a gap; nullptr: it is a whole block
    char* search = nullptr;  // where the next search begins: in a block, or at its end
    char* search_end = nullptr;

    size_t left_bytes() const { return static_cast<size_t>(end - cursor); }
    void TakeBlock(char* block) {
      *this = {};
      cursor = block;
      end = block + kBlockBytes;
    }
    void BeginSearch(char* block) {
      search = block;
      search_end = block + kBlockBytes;
    }
    // Moves on to the next gap of `bytes` in the block.  Returns false if the block has no more.
    bool FindGap(size_t bytes);
    void Close();
  };

 public:
  // Two holes, the second for objects above 128 bytes that do not fit into the first.
  class Lane {
    friend class BlockSpace;
    Hole hole;
    Hole overflow;
  };

  BlockSpace() = default;
  ~BlockSpace();
  BlockSpace(const BlockSpace&) = delete;
  BlockSpace& operator=(const BlockSpace&) = delete;

  // Returns a number of entirely free blocks that suffices for `bytes` of objects, whatever their
  // sizes and whatever the holes.  A cursor leaves a block with at most 8 KiB unused, and each lane
  // has two cursors open.
  static size_t BlocksFor(size_t bytes, size_t lanes = 1) {
    return bytes / (kBlockBytes - kMaxYoungBytes - 16) + 1 + 2 * lanes;
  }

  // Allocates `bytes`, header included.  inv.reserve: the caller has ensured that enough free
  // blocks exist, so this never fails.
  char* Allocate(size_t bytes) { return AllocateIn<false>(lanes_[0], bytes); }

  // --- Several threads that place objects at the same time, each in a lane of its own.  A lane is
  // the two holes that are filled; what is left of them serves the lane's next owner.

  static constexpr size_t kMostLanes = 32;
  // Lane 0 is that of Allocate().  PutLane() comes before anything but AllocateShared().
  Lane TakeLane(size_t index);
  void PutLane(size_t index, const Lane& lane);
  // Like Allocate().  Takes a lock once for each hole.
  char* AllocateShared(Lane& lane, size_t bytes) { return AllocateIn<true>(lane, bytes); }

  // Takes an entirely free block, of kBlockBytes, which objects fill from its beginning on.
  char* TakeFreeBlock();

  // Adds a chunk of free blocks; false if the backend has no memory.
  bool AddChunk();
  size_t free_blocks() const { return free_.size(); }
  size_t bytes() const { return chunks_.size() * kChunkBytes; }

  void ClearMarks();
  // Finds the blocks that have holes.  Keeps at least `keep_blocks` free blocks, and releases
  // further entirely free chunks.
  void Sweep(size_t keep_blocks);

  template <typename Visit>
  void ForEachChunk(Visit visit) {
    for (Chunk* chunk : chunks_) visit(*chunk);
  }
  template <typename Visit>
  void ForEachMarked(Visit visit) {
    for (Chunk* chunk : chunks_) chunk->ForEachMarked(visit);
  }

  // --- Marking in slices (mark_cycle.h).  Each Clear, Sweep and Release does one piece of work on
  // a chunk, and returns false when nothing is left.

  // Starts a marking.  The marks of the blocks in use are valid once ClearNext() has cleared them.
  // Blocks taken before EndMarking() hold live objects only.
  void BeginMarking();
  bool ClearNext();
  // Calls visit(Object*) for the objects marked since BeginMarking(), except those of new blocks.
  template <typename Visit>
  void ForEachMarkedSince(Visit visit) {
    for (Chunk* chunk : chunks_) chunk->ForEachMarked(visit, chunk->marks_known);
  }
  // Whether the object was made or promoted since BeginMarking().
  static bool IsFresh(const Object* object) { return Chunk::Of(object)->IsFresh(object); }
  // Whether the object that holds the byte, in one of the chunks, is marked, or fresh.
  static bool IsInMarked(char* byte) {
    return Chunk::Of(byte)->IsFresh(byte) || Chunk::Of(byte)->MarkedAt(byte) != nullptr;
  }
  void EndMarking();
  // Ends a marking that is followed by another one, without a sweep between them.
  void GiveUpMarking();
  bool SweepNext();
  // Chooses the chunks that Sweep() would give back.  Called after the last SweepNext().
  void ChooseReleases(size_t keep_blocks);
  // Removes one of the chosen chunks and returns it for the caller to free; nullptr if there is
  // none left.
  Chunk* TakeReleased();
  // The same without slices, in two steps: the collection puts the chosen chunks aside, and the
  // collector takes them, linked by next_released, when it lets the world run.
  void PutReleasedAside() {
    Chunk** end = &aside_;
    while (*end != nullptr) end = &(*end)->next_released;
    *end = std::exchange(released_, nullptr);
  }
  Chunk* TakeAside() { return std::exchange(aside_, nullptr); }

  ChunkStock& stock() { return stock_; }
  // Sets whether chunks added later have small pages, which are taken one by one.
  void SetPrefersSmallPages(bool prefers) { prefers_small_pages_ = prefers; }

  // Numbers the marked objects from `first` on, in the order of ForEachMarked().
  uint32_t NumberMarked(uint32_t first) {
    for (Chunk* chunk : chunks_) first = chunk->NumberMarked(first);
    return first;
  }

  // Whether the address, of an object or a slot, lies in a block of this space.
  bool Contains(const void* address) const { return Find(address) != nullptr; }

  // --- For words of native stacks, before ClearMarks().

  // All chunks lie between these addresses.
  uintptr_t low() const { return chunks_.empty() ? 0 : AddressOf(chunks_.front()); }
  uintptr_t high() const { return chunks_.empty() ? 0 : AddressOf(chunks_.back()) + kChunkBytes; }
  // Makes the objects in the holes in use known to ObjectAt().
  void CloseHoles();
  // Returns the object, header included, that holds the byte before `word`, as
  // YoungSlice::ObjectAt() does. An object is found by its mark, or by a walk over its block, if
  // that was taken as a whole since the last marking.  A dead object is found until then.
  Object* ObjectAt(uintptr_t word) const;

 private:
  static uintptr_t AddressOf(const Chunk* chunk) { return reinterpret_cast<uintptr_t>(chunk); }
  Chunk* Find(const void* address) const;
  // kShared: other threads place objects in other lanes meanwhile.
  template <bool kShared>
  char* AllocateIn(Lane& lane, size_t bytes);
  template <bool kShared>
  char* AllocateSlow(Lane& lane, size_t bytes);
  template <bool kShared>
  char* NextBlock();
  template <bool kShared>
  void TakeNextHole(Lane& lane, size_t bytes);
  template <bool kShared>
  bool FindOverflowGap(Lane& lane, size_t bytes);
  char* PopRecyclable();
  char* PopRecyclableShared();
  void EndOverflowSearches();
  char* NextToLookInto();
  char* PopFreeBlock();
  void PrepareBlock(char* block, bool takes_pages);
  char* TakeFreeBlockShared();
  void ForgetHoles();
  Chunk* NextOfWalk();
  void SweepBlock(char* block);
  void SettleFresh(char* block);
  ChunkPages WantedPages() const;

  // Two chunks with huge pages may have a mapping without huge pages between them, and Linux allows
  // a process 65,530 mappings.
  static constexpr size_t kMostHugeChunks = 16 << 10;

  Lane lanes_[kMostLanes];
  // The search for overflow holes goes through recyclable_ from its front, where those are that are
  // used last.  A block has one search at a time.
  size_t overflow_next_ = 0;  // the block in recyclable_ that comes next
  Mutex lanes_mutex_;         // held for the lists and the bits of chunks while lanes are shared

  // Capacity for every block is reserved when a chunk is added, so that sweeping does not
  // allocate.
  Vector<Chunk*> chunks_;     // sorted by address
  size_t n_huge_chunks_ = 0;  // number of those with huge pages
  bool prefers_small_pages_ = false;
  Vector<char*> free_;
  Vector<char*> recyclable_;  // blocks with gaps, the next one at the back
  bool marking_ = false;      // between BeginMarking() and EndMarking()
  ChunkStock stock_;
  uintptr_t walked_ = 0;  // the walk over the chunks has come down to this address
  Chunk* released_ = nullptr;
  Chunk* aside_ = nullptr;
};

template <bool kShared>
inline char* BlockSpace::AllocateIn(Lane& lane, size_t bytes) {
  char* start = lane.hole.cursor;
  if (__builtin_expect(bytes > lane.hole.left_bytes(), 0))
    return AllocateSlow<kShared>(lane, bytes);
  lane.hole.cursor = start + bytes;
  return start;
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_BLOCK_SPACE_H_
