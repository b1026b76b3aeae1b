// The state that a member of a team needs to mark beside the others: its offers and its counts.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_SHARE_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_SHARE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/internal/collect/shared_work.h"
#include "runtime/internal/object/object.h"
#include "runtime/internal/space/chunk.h"
#include "runtime/internal/space/memory.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

// A long object that is marked, and looked at in part: the words [next, end) are left.
struct LongObject {
  Object* object;
  uint64_t next;
  uint64_t end;
};

// Work that a member offers to the others: marked objects to be scanned.
//
// The memory is the offering member's.  SharedWork's mutex makes the contents visible to the one
// that takes them.  That one sets `taken` when it has copied them.  The release pairs with the
// owner's acquire, so the owner fills the batch after the last read of it.
struct MarkBatch {
  static constexpr size_t kMostObjects = 256;
  Object* objects[kMostObjects];
  size_t n_objects = 0;
  LongObject range = {};  // no object: there is only the list above
  std::atomic<bool> taken{true};

  bool IsFree() const { return taken.load(std::memory_order_acquire); }
  void Free() { taken.store(true, std::memory_order_release); }
  void Occupy() { taken.store(false, std::memory_order_relaxed); }
};

// Sums of the words that one member has marked in each block.  An atomic addition for each object
// would move the line of a chunk's sums between the processors all the time.
//
// Used by one thread.  Add() costs as much as a look into a table, sometimes an atomic addition.
class LiveSums {
 public:
  // Blocks so far apart have the same place in the table.
  static constexpr size_t kCoveredBytes = size_t{128} << 20;

  // Counts an object of a chunk, which has become marked.
  void Add(const Object* object, uint64_t words_with_header) {
    const uintptr_t block = reinterpret_cast<uintptr_t>(object) / kBlockBytes;
    uint64_t& sum = sums_[block % kSums];
    if (__builtin_expect(sum >> kWordBits != block, 0)) Replace(sum, block);
    sum += words_with_header;
    ALLOMON_DCHECK("inv.mark.team.sums", sum >> kWordBits == block && WordsOf(sum) <= kBlockWords);
  }
  // Adds all sums to those of the chunks.
  void Flush() {
    for (uint64_t& sum : sums_) Replace(sum, 0);
  }

 private:
  static constexpr size_t kSums = kCoveredBytes / kBlockBytes;
  static constexpr unsigned kWordBits = 16;
  static_assert(kBlockWords < size_t{1} << kWordBits);

  static uint64_t WordsOf(uint64_t sum) { return sum & ((uint64_t{1} << kWordBits) - 1); }
  __attribute__((noinline)) static void Replace(uint64_t& sum, uintptr_t block) {
    if (WordsOf(sum) != 0) {
      const char* const start = reinterpret_cast<char*>((sum >> kWordBits) * kBlockBytes);
      Chunk::Of(start)->CountLiveShared(Chunk::BlockOf(start), WordsOf(sum));
    }
    sum = static_cast<uint64_t>(block) << kWordBits;
  }

  uint64_t sums_[kSums] = {};  // a block's number, and its words
};

// The part of a Marker that only a member of a team has.
struct MarkShare {
  explicit MarkShare(SharedWork& shared_work) : work(shared_work) {}

  SharedWork& work;
  LiveSums sums;
  Vector<Slot*> young_slots;  // of old objects, that point to young objects which stay
  // While one is copied by the member that has taken it, the other one can be offered.
  MarkBatch batches[2];
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_SHARE_H_
