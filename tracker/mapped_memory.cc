#include "tracker/mapped_memory.h"

#include <algorithm>
#include <atomic>

#include "tracker/base/errno_keeper.h"
#include "tracker/base/own_memory.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/words.h"
#include "tracker/core/busy_mark.h"
#include "tracker/core/entries.h"
#include "tracker/heap_client.h"
#include "tracker/sampling/countdown.h"

namespace allomon {
namespace {

using heap_client::BlockHandle;
using internal::BusyMark;
using internal::CurrentThread;
using internal::SpinLock;
using internal::SpinLockHolder;
using internal::WordsOf;

struct Place {
  uintptr_t begin;
  uintptr_t end;
  BlockHandle handle;
};

constexpr size_t kMostPlaces = size_t{1} << 16;

SpinLock g_lock;  // held while its thread is busy, so that no handler waits for its own thread
Place* g_places ALLOMON_GUARDED_BY(g_lock) = nullptr;  // by address; they do not overlap
std::atomic<size_t> g_count{0};                        // written under g_lock

// The first place that ends above `address`.
Place* FirstAboveLocked(uintptr_t address) ALLOMON_REQUIRES(g_lock) {
  return std::upper_bound(g_places, g_places + g_count.load(std::memory_order_relaxed), address,
                          [](uintptr_t a, const Place& place) { return a < place.end; });
}

void EraseLocked(Place* place) ALLOMON_REQUIRES(g_lock) {
  const size_t count = g_count.load(std::memory_order_relaxed);
  std::move(place + 1, g_places + count, place);
  g_count.store(count - 1, std::memory_order_relaxed);
}

bool InsertLocked(const Place& place) ALLOMON_REQUIRES(g_lock) {
  const size_t count = g_count.load(std::memory_order_relaxed);
  if (g_places == nullptr || count == kMostPlaces) return false;
  Place* const at = FirstAboveLocked(place.begin);
  std::move_backward(at, g_places + count, g_places + count + 1);
  *at = place;
  g_count.store(count + 1, std::memory_order_relaxed);
  return true;
}

// Takes [begin, end) away from a place of which a part is left.
void ShrinkLocked(Place* place, uintptr_t begin, uintptr_t end) ALLOMON_REQUIRES(g_lock) {
  if (place->begin < begin) {
    place->end = begin;
  } else {
    place->begin = end;
  }
  internal::SetBlockSize(place->handle, place->end - place->begin);
}

// Takes one place out of [begin, end), or a part of it.  Returns the handle of a place that is gone
// as a whole, 0 if there is none; *more is false when nothing is left to take.
BlockHandle TakeOne(uintptr_t begin, uintptr_t end, bool* more) {
  const BusyMark busy;
  const SpinLockHolder hold(g_lock);
  Place* const place = FirstAboveLocked(begin);
  *more = place != g_places + g_count.load(std::memory_order_relaxed) && place->begin < end;
  if (!*more) return 0;
  if (place->begin < begin || place->end > end) {
    ShrinkLocked(place, begin, end);
    return 0;
  }
  const BlockHandle handle = place->handle;
  EraseLocked(place);
  return handle;
}

bool Insert(const Place& place) {
  const BusyMark busy;
  const SpinLockHolder hold(g_lock);
  return InsertLocked(place);
}

BlockHandle Report(size_t size_bytes, const FrameState& caller) {
  heap_client::Block block = {};
  block.size_bytes = size_bytes;
  block.source = AllocationSource::kCustom;
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
  if (g_places != nullptr) return;
  g_places = static_cast<Place*>(internal::OwnMemory::Map(kMostPlaces * sizeof(Place)));
  heap_client::HoldAroundFork(&g_lock);
}

void MappedMemory::Mapped(const void* start, size_t size_bytes, const FrameState& caller) {
  const ErrnoKeeper keeper;
  Unmapped(start, size_bytes);
  if (CurrentThread().busy || !internal::CountDown(WordsOf(size_bytes))) return;
  const BlockHandle handle = Report(size_bytes, caller);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(start);
  if (handle != 0 && !Insert({begin, begin + size_bytes, handle})) heap_client::OnFree(handle);
}

void MappedMemory::Unmapped(const void* start, size_t size_bytes) {
  if (g_count.load(std::memory_order_relaxed) == 0 || CurrentThread().busy) return;
  const ErrnoKeeper keeper;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(start);
  bool more = true;
  while (more) {
    const BlockHandle handle = TakeOne(begin, begin + size_bytes, &more);
    if (handle != 0) heap_client::OnFree(handle);
  }
}

}  // namespace allomon
