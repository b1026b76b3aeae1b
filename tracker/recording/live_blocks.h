// The sampled blocks that are live.
//
// Take(), Set() and Release() take no lock.  A thread that has released a block takes it again
// without a locked instruction.  Grow() is called under the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_LIVE_BLOCKS_H_
#define ALLOMON_TRACKER_RECORDING_LIVE_BLOCKS_H_

#include <cstdint>
#include <new>

#include "tracker/base/tagged_free_list.h"
#include "tracker/recording/records.h"

namespace allomon::recording {

// Facts of a block that the process needs when the block ends.
struct OwnBlock {
  uint64_t size_bytes;
  uint64_t birth_nanos;
  uint64_t birth_bytes;
  Written<LiveBlock> file;
  std::atomic<uint32_t> next_free;
  uint32_t scope;  // number of its Scope; 0: none
};
static_assert(sizeof(OwnBlock) == 40);

class LiveBlocks {
 public:
  using Links = FreeLinks<OwnBlock>;
  static constexpr uint32_t kMostCached = 16;
  // A thread's own; see ThreadFreeCache.
  using Cache = internal::ThreadFreeCache<Links, 1, kMostCached>;

  void Begin(SegmentSource* source, WrittenField<uint32_t> count) {
    blocks_.Begin(source, count);
    new (&free_) internal::TaggedFreeList<Links>;
  }
  void Clear() {
    blocks_.Clear();
    own_.Clear();
  }

  // Returns a free number; 0 if Grow() must make one.
  uint32_t Take(Cache* cache) {
    const uint32_t own = cache->Pop(links(), 0);
    return own != 0 ? own : free_.Pop(links());
  }
  // Makes a fresh number.  Returns 0 if there is no room.
  uint32_t Grow() {
    if (!blocks_.Reserve() || !own_.Reserve(blocks_.size() + 1)) return 0;
    const uint32_t number = blocks_.Add(LiveBlock{});
    own_.At(number).file = blocks_.At(number);
    if constexpr (internal::kDebugChecks) own_.At(number).birth_nanos = kNeverBorn;
    return number;
  }

  // The block's row is published last: a reader that sees it sees the rest.
  void Set(uint32_t number, const LiveBlock& block, uint32_t scope) const {
    OwnBlock& own = own_.At(number);
    ALLOMON_DCHECK_EQ("inv.recording.live", own.birth_nanos, kNeverBorn);
    ALLOMON_DCHECK("inv.recording.row", block.row != 0 && block.thread != 0);
    own.scope = scope;
    own.size_bytes = block.size_bytes;
    own.birth_nanos = block.birth_nanos;
    own.birth_bytes = block.birth_bytes;
    const Written<LiveBlock> file = own.file;
    file[&LiveBlock::thread].Store(block.thread);
    file[&LiveBlock::size_bytes].Store(block.size_bytes);
    file[&LiveBlock::birth_nanos].Store(block.birth_nanos);
    file[&LiveBlock::birth_bytes].Store(block.birth_bytes);
    file[&LiveBlock::row].Publish(block.row);
  }
  const OwnBlock& At(uint32_t number) const { return own_.At(number); }

  // Only the thread that ends the block has its number (inv.entry.once).
  void Release(uint32_t number, Cache* cache) {
    OwnBlock& own = own_.At(number);
    ALLOMON_DCHECK_NE("inv.recording.live", own.birth_nanos, kNeverBorn);
    if constexpr (internal::kDebugChecks) own.birth_nanos = kNeverBorn;
    own.file[&LiveBlock::row].Store(0);
    if (cache == nullptr || !cache->Push(links(), 0, number)) free_.Push(links(), number);
  }
  // The thread ends.
  void Drain(Cache* cache) { cache->Drain(links(), 0, free_); }

 private:
  // Marks a free number in debug builds.
  static constexpr uint64_t kNeverBorn = UINT64_MAX;

  Links links() const { return {&own_}; }

  Records<LiveBlock, SegmentKind::kLive> blocks_;
  OwnArray<OwnBlock> own_;
  internal::TaggedFreeList<Links> free_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_LIVE_BLOCKS_H_
