#include "tracker/mapped_memory.h"

#include <algorithm>
#include <atomic>

#include "tracker/base/errno_keeper.h"
#include "tracker/base/own_memory.h"
#include "tracker/base/page_size.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/words.h"
#include "tracker/core/busy_mark.h"
#include "tracker/core/entries.h"
#include "tracker/heap_client.h"
#include "tracker/sampling/countdown.h"
#include "tracker/sampling/random.h"

namespace allomon {
namespace {

using heap_client::BlockHandle;
using internal::BusyMark;
using internal::CurrentThread;
using internal::RandomBits;
using internal::SpinLock;
using internal::SpinLockHolder;
using internal::WordsOf;

// Bytes [begin, end) that were mapped together, or a part of them.  Places without a block are not
// memory of the program's own.
struct Place {
  uintptr_t begin;
  uintptr_t end;
  MappedMemory::Moment told_at;
  uint32_t block;
};

// A followed mapping of which at least one place is left.
struct Block {
  uint64_t size_bytes;  // of its places
  BlockHandle handle;   // 0: free, or no sampled word is left
  uint32_t places;      // of a free one: the next free block
};

constexpr size_t kMostPlaces = size_t{1} << 16;
constexpr uint32_t kNoBlock = UINT32_MAX;
constexpr uint64_t kSeed = 0x6d6d6170;  // any; a run with ALLOMON_SEED can be repeated

SpinLock g_lock;  // held while its thread is busy, so that no handler waits for its own thread

// A list of places, sorted by address, without overlaps.
class Places {
 public:
  void Begin() { places_ = static_cast<Place*>(internal::OwnMemory::Map(kRoomBytes)); }
  bool is_begun() const { return places_ != nullptr; }
  // Lets a thread that has just mapped or unmapped skip an empty table.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }

  // Returns the first place that ends above `address`; end() if there is none.
  Place* FirstAbove(uintptr_t address) const {
    return std::upper_bound(places_, end(), address,
                            [](uintptr_t a, const Place& place) { return a < place.end; });
  }
  Place* end() const { return places_ + count_.load(std::memory_order_relaxed); }

  void Erase(Place* place) {
    std::move(place + 1, end(), place);
    count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }
  bool Insert(const Place& place) {
    const size_t count = count_.load(std::memory_order_relaxed);
    if (places_ == nullptr || count == kMostPlaces) return false;
    Place* const at = FirstAbove(place.begin);
    std::move_backward(at, places_ + count, places_ + count + 1);
    *at = place;
    count_.store(count + 1, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr size_t kRoomBytes = kMostPlaces * sizeof(Place);

  Place* places_ = nullptr;
  std::atomic<size_t> count_{0};  // written under g_lock
};

Places g_followed;  // both are changed under g_lock; only empty() reads without it
Places g_others;
Block* g_blocks ALLOMON_GUARDED_BY(g_lock) = nullptr;
uint32_t g_blocks_used ALLOMON_GUARDED_BY(g_lock) = 0;
uint32_t g_free_block ALLOMON_GUARDED_BY(g_lock) = kNoBlock;
RandomBits g_bits ALLOMON_GUARDED_BY(g_lock);  // a thread that only unmaps has none
std::atomic<MappedMemory::Moment> g_now{1};

MappedMemory::Moment NextMomentLocked() ALLOMON_REQUIRES(g_lock) {
  return g_now.fetch_add(1, std::memory_order_relaxed);
}

// Always finds a free block: there are as many blocks as places, and each block has at least one
// place.
uint32_t TakeBlockLocked(const Block& block) ALLOMON_REQUIRES(g_lock) {
  const uint32_t taken = g_free_block != kNoBlock ? g_free_block : g_blocks_used++;
  if (taken == g_free_block) g_free_block = g_blocks[taken].places;
  g_blocks[taken] = block;
  return taken;
}

BlockHandle ReleaseBlockLocked(uint32_t block) ALLOMON_REQUIRES(g_lock) {
  const BlockHandle handle = g_blocks[block].handle;
  g_blocks[block] = {0, 0, g_free_block};
  g_free_block = block;
  return handle;
}

// The pages that were unmapped or replaced.
struct Range {
  uintptr_t begin;
  uintptr_t end;
  MappedMemory::Moment before;
};

Range PagesOf(const void* start, size_t size_bytes, MappedMemory::Moment before) {
  const auto begin = reinterpret_cast<uintptr_t>(start);
  return {begin, begin + internal::RoundUpToPage(size_bytes), before};
}

// Removes the first place, or the part of it, that is in the range and was told before its moment.
// The range then begins after it.  Returns false if there is none.  *removed_bytes is the number of
// bytes that *block loses; *added_places is the change in its number of places: -1, 0 or 1.
bool CutFirstLocked(Places* places, Range* range, uint32_t* block, uint64_t* removed_bytes,
                    int* added_places) ALLOMON_REQUIRES(g_lock) {
  // Places may overlap while two threads report one place, if one has unmapped it for the other.
  Place* place = places->FirstAbove(range->begin);
  while (place != places->end() && place->begin < range->end &&
         (place->told_at >= range->before || place->end <= range->begin)) {
    ++place;
  }
  if (place == places->end() || place->begin >= range->end) return false;
  const uintptr_t begin = std::max(place->begin, range->begin);
  const uintptr_t end = std::min(place->end, range->end);
  *block = place->block;
  *removed_bytes = end - begin;
  *added_places = 0;
  range->begin = end;
  if (place->begin == begin && place->end == end) {
    places->Erase(place);
    *added_places = -1;
  } else if (place->begin == begin) {
    place->begin = end;
  } else {
    const Place behind = {end, place->end, place->told_at, place->block};
    place->end = begin;
    if (behind.begin == behind.end) return true;
    if (places->Insert(behind)) {
      *added_places = 1;
    } else {
      *removed_bytes += behind.end - behind.begin;
    }
  }
  return true;
}

// Removes the followed part of the first place in the range.  Returns a handle of entries that have
// no words left, 0 if there are none.  *more is false when the range is done.
BlockHandle TakeOne(Range* range, bool* more) {
  const BusyMark busy;
  const SpinLockHolder hold(g_lock);
  uint32_t number = 0;
  uint64_t removed_bytes = 0;
  int added_places = 0;
  *more = CutFirstLocked(&g_followed, range, &number, &removed_bytes, &added_places);
  if (!*more) return 0;
  Block& block = g_blocks[number];
  const uint64_t words_before = WordsOf(block.size_bytes);
  block.size_bytes -= removed_bytes;
  block.places += static_cast<uint32_t>(added_places);
  if (block.places == 0) return ReleaseBlockLocked(number);
  return internal::ShrinkBlock(&block.handle, words_before, WordsOf(block.size_bytes),
                               block.size_bytes, g_bits);
}

void TakeOthers(Range range) {
  const BusyMark busy;
  const SpinLockHolder hold(g_lock);
  uint32_t number = 0;
  uint64_t removed_bytes = 0;
  int added_places = 0;
  while (CutFirstLocked(&g_others, &range, &number, &removed_bytes, &added_places)) {
  }
}

bool Follow(uintptr_t begin, size_t size_bytes, BlockHandle handle) {
  const BusyMark busy;
  const SpinLockHolder hold(g_lock);
  if (g_blocks == nullptr) return false;
  Place place = {begin, begin + size_bytes, NextMomentLocked(), kNoBlock};
  if (!g_followed.Insert(place)) return false;
  g_followed.FirstAbove(begin)->block = TakeBlockLocked({size_bytes, handle, 1});
  return true;
}

BlockHandle Report(size_t size_bytes, const FrameState& caller) {
  heap_client::Block block = {};
  block.size_bytes = size_bytes;
  block.source = AllocationSource::kCustom;
  block.is_mapped = true;
  switch (heap_client::JudgeAllocationSlow(WordsOf(size_bytes))) {
    case heap_client::Verdict::kNotSampled:
      break;
    case heap_client::Verdict::kCount:
      heap_client::ReportCounted(block, caller);
      break;
    case heap_client::Verdict::kFollow:
      return heap_client::ReportFollowed(block, caller);
  }
  return 0;
}

}  // namespace

void MappedMemory::Begin() {
  const BusyMark busy;
  const SpinLockHolder hold(g_lock);
  if (g_followed.is_begun()) return;
  g_followed.Begin();
  g_others.Begin();
  g_bits.Seed(kSeed, 0);
  g_blocks = static_cast<Block*>(internal::OwnMemory::Map(kMostPlaces * sizeof(Block)));
  heap_client::HoldAroundFork(&g_lock);
}

MappedMemory::Moment MappedMemory::Now() { return g_now.load(std::memory_order_relaxed); }

void MappedMemory::Mapped(const void* start, size_t size_bytes, Moment before,
                          const FrameState& caller) {
  const ErrnoKeeper keeper;
  Unmapped(start, size_bytes, before);
  if (CurrentThread().busy || !internal::CountDown(WordsOf(size_bytes))) return;
  const BlockHandle handle = Report(size_bytes, caller);
  if (handle != 0 && !Follow(reinterpret_cast<uintptr_t>(start), size_bytes, handle)) {
    heap_client::OnFree(handle);
  }
}

void MappedMemory::MappedOther(const void* start, size_t size_bytes, Moment before) {
  Unmapped(start, size_bytes, before);
  if (size_bytes == 0 || CurrentThread().busy) return;
  const Range range = PagesOf(start, size_bytes, before);
  const BusyMark busy;
  const SpinLockHolder hold(g_lock);
  g_others.Insert({range.begin, range.end, NextMomentLocked(), kNoBlock});
}

void MappedMemory::Unmapped(const void* start, size_t size_bytes, Moment before) {
  if (CurrentThread().busy || size_bytes == 0) return;
  const ErrnoKeeper keeper;
  Range range = PagesOf(start, size_bytes, before);
  if (!g_others.empty()) TakeOthers(range);
  bool more = !g_followed.empty();
  while (more) {
    const BlockHandle handle = TakeOne(&range, &more);
    if (handle != 0) heap_client::OnFree(handle);
  }
}

bool MappedMemory::IsOther(const void* start, size_t size_bytes) {
  if (g_others.empty() || CurrentThread().busy) return false;
  const Range range = PagesOf(start, size_bytes, 0);
  const BusyMark busy;
  const SpinLockHolder hold(g_lock);
  const Place* const place = g_others.FirstAbove(range.begin);
  return place != g_others.end() && place->begin < range.end;
}

}  // namespace allomon
