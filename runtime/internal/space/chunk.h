// A chunk of the old space: 2 MiB, aligned to its size, which is a huge page where there are some.
// The chunk of an object is the object's address with the low bits cleared.  The chunk's first
// blocks of 32 KiB hold the marks of the others, a bit per word, and how much of each block lives.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_CHUNK_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_CHUNK_H_

#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/internal/object/object.h"
#include "runtime/internal/space/memory.h"

namespace allomon::gc::internal {

inline constexpr size_t kChunkBytes = size_t{2} << 20;
inline constexpr size_t kBlockBytes = size_t{32} << 10;
inline constexpr size_t kBlocksPerChunk = kChunkBytes / kBlockBytes;
inline constexpr size_t kFirstBlock = 2;
inline constexpr size_t kUsableBlocks = kBlocksPerChunk - kFirstBlock;
inline constexpr size_t kBlockWords = kBlockBytes / kWordBytes;
inline constexpr size_t kMarksPerBlock = kBlockBytes / kWordBytes / 64;

struct Chunk {
  uint64_t marks[kChunkBytes / kWordBytes / 64];
  // A bit per block.  `in_use`: the block is not in the list of free blocks.  `fresh`: it was taken
  // as a whole since the last marking began, so its objects lie side by side from its beginning on,
  // without marks, and a marking in slices takes all of them for live (inv.mark.fresh).
  // `marks_known`: it was in use when marking in slices began, so its marks are those of that
  // marking; the helper reads this while blocks become fresh.  `to_sweep`: it was in use when that
  // marking ended. `touched`: its pages are resident.
  uint64_t in_use;
  uint64_t touched;
  uint64_t marks_known;
  uint64_t to_sweep;
  uint64_t fresh;
  // Words of each block's marked objects, with their headers, as the marking has counted them.
  uint16_t live_words[kBlocksPerChunk];
  Chunk* next_released;  // list of the chunks to free
  bool released;
  bool huge;  // PreferHugePages() was asked for it
  // Numbers for the marked objects, written by NumberMarked() and valid until the marks change: the
  // number of a block's first object, and for each word of marks how many objects precede it in the
  // block.
  uint32_t first_numbers[kBlocksPerChunk];
  uint16_t marked_before[kChunkBytes / kWordBytes / 64];

  static Chunk* Of(const void* address) {
    return reinterpret_cast<Chunk*>(reinterpret_cast<uintptr_t>(address) & ~(kChunkBytes - 1));
  }
  char* start() { return reinterpret_cast<char*>(this); }
  // Blocks from kFirstBlock on hold objects.
  char* BlockAt(size_t block) { return start() + block * kBlockBytes; }
  static size_t BlockOf(const void* address) { return OffsetOf(address) / kBlockBytes; }
  static uint64_t BitOfBlock(const void* address) { return uint64_t{1} << BlockOf(address); }
  bool WasTouched(size_t block) const { return (touched >> block & 1) != 0; }
  // Notes that the block is about to be filled.  Returns whether it was before, and has its pages.
  bool NoteTouched(const char* block) {
    return (std::exchange(touched, touched | BitOfBlock(block)) & BitOfBlock(block)) != 0;
  }
  bool IsFresh(const void* address) const { return (fresh & BitOfBlock(address)) != 0; }

  bool IsMarked(const Object* object) const {
    const size_t word = OffsetOf(object) / kWordBytes;
    return (marks[word / 64] >> word % 64 & 1) != 0;
  }

  // Returns false if the object was marked before.
  bool SetMarked(const Object* object) {
    const size_t word = OffsetOf(object) / kWordBytes;
    const uint64_t bit = uint64_t{1} << word % 64;
    if ((marks[word / 64] & bit) != 0) return false;
    marks[word / 64] |= bit;
    return true;
  }

  // The same while several threads mark.  Relaxed: the bit alone decides which of them scans the
  // object, and the contents of objects are not written meanwhile.
  bool SetMarkedShared(const Object* object) {
    const size_t word = OffsetOf(object) / kWordBytes;
    const uint64_t bit = uint64_t{1} << word % 64;
    uint64_t& of_word = marks[word / 64];
    if ((__atomic_load_n(&of_word, __ATOMIC_RELAXED) & bit) != 0) return false;
    return (__atomic_fetch_or(&of_word, bit, __ATOMIC_RELAXED) & bit) == 0;
  }

  // Prefetches the marks of an object of any space: the address is computed, not read.
  void PrefetchMarks(const Object* object) const {
    __builtin_prefetch(&marks[OffsetOf(object) / kWordBytes / 64], 1);
  }

  // Call once for each object that becomes marked.
  void CountLive(const Object* object, uint64_t words_with_header) {
    live_words[BlockOf(object)] += static_cast<uint16_t>(words_with_header);
  }
  // Adds the words of several marked objects of a block, while several threads mark.
  void CountLiveShared(size_t block, uint64_t words_with_headers) {
    __atomic_fetch_add(&live_words[block], static_cast<uint16_t>(words_with_headers),
                       __ATOMIC_RELAXED);
  }

  void ClearMarks() {
    memset(marks, 0, sizeof(marks));
    memset(live_words, 0, sizeof(live_words));
    fresh = 0;
  }
  // Clears the marks of one block.
  void ClearMarksOf(size_t block) {
    FillMarksOf(block, 0);
    live_words[block] = 0;
  }
  // `byte` is 0 or 0xff.
  void FillMarksOf(size_t block, int byte) {
    memset(&marks[block * kMarksPerBlock], byte, kMarksPerBlock * sizeof(marks[0]));
  }

  struct Gap {
    char* begin;  // nullptr: no gap
    char* end;
  };
  // Returns the next gap of at least `bytes` between the marked objects of a block.  `at` is the
  // block's beginning, or the end of a marked object or of a gap, but not the block's end.  Cost: a
  // read of the header of each object that is passed.
  Gap FindGap(char* at, size_t bytes);
  // Marks the objects that were placed in a gap from its beginning on, up to `end`.
  void MarkPlaced(char* begin, const char* end);

  // Returns the object that holds the byte; nullptr if no object does.
  Object* ObjectAt(char* byte) { return IsFresh(byte) ? WalkedTo(byte) : MarkedAt(byte); }
  // The marked object that holds the byte; nullptr if no object does.
  Object* MarkedAt(char* byte);

  // Numbers the marked objects from `first` on, by address.  Returns the next free number.
  uint32_t NumberMarked(uint32_t first) {
    for (size_t block = 0; block < kBlocksPerChunk; ++block) {
      uint32_t found = 0;
      first_numbers[block] = first;
      for (size_t i = block * kMarksPerBlock; i < (block + 1) * kMarksPerBlock; ++i) {
        marked_before[i] = static_cast<uint16_t>(found);
        found += static_cast<uint32_t>(__builtin_popcountll(marks[i]));
      }
      first += found;
    }
    return first;
  }

  uint32_t NumberOf(const Object* object) const {
    const size_t word = OffsetOf(object) / kWordBytes;
    const uint64_t below = marks[word / 64] & ((uint64_t{1} << word % 64) - 1);
    return first_numbers[BlockOf(object)] + marked_before[word / 64] +
           static_cast<uint32_t>(__builtin_popcountll(below));
  }

  static constexpr uint64_t kAllBlocks = ~uint64_t{0};
  // Calls visit(Object*) for every marked object of the blocks, by ascending address.
  template <typename Visit>
  void ForEachMarked(Visit visit, uint64_t blocks = kAllBlocks) {
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); ++i) {
      if ((blocks >> i / kMarksPerBlock & 1) == 0) continue;
      for (uint64_t bits = marks[i]; bits != 0; bits &= bits - 1) {
        const size_t word = i * 64 + static_cast<size_t>(__builtin_ctzll(bits));
        visit(reinterpret_cast<Object*>(start() + word * kWordBytes));
      }
    }
  }

 private:
  Object* WalkedTo(const char* byte);
  size_t NextMark(size_t word, size_t end) const;
  static size_t OffsetOf(const void* address) {
    return reinterpret_cast<uintptr_t>(address) & (kChunkBytes - 1);
  }
};
static_assert(kBlockWords <= UINT16_MAX, "live_words");
// Returns the end of the object; `object` points after the header.
inline char* EndOf(Object* object) {
  return reinterpret_cast<char*>(object) + SizeWords(TypeOf(HeaderOf(object)), object) * kWordBytes;
}
static_assert(sizeof(Chunk) <= kFirstBlock * kBlockBytes, "its own data fill the first blocks");
static_assert(kBlocksPerChunk == 64, "a word has a bit per block");

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_CHUNK_H_
