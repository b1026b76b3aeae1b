#include "allocator/guard/guarded_block.h"

#include <cstring>

#include "allocator/guard/error_report.h"
#include "tracker/base/check.h"
#include "tracker/base/default_float.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/base/thread_annotations.h"
#include "tracker/heap_tools.h"

namespace allomon::internal {

std::atomic<bool> guard_is_on{false};

namespace {

using heap_client::Verdict;
using State = GuardedSlot::State;

// The countdown of samples until the next guarded block.  The thread that guards a block draws the
// next number.
struct Choice {
  heap_client::RandomBits random ALLOMON_GUARDED_BY(guarded_pool.lock());
  double gap_scale ALLOMON_GUARDED_BY(guarded_pool.lock()) = 0;
  std::atomic<bool> everything{false};  // one_in is 1
  // Set under the pool's lock, counted down without the lock.
  std::atomic<int64_t> samples_left{0};
};
Choice g_choice;

std::atomic<uint64_t> g_guarded{0};
std::atomic<uint64_t> g_too_large{0};
std::atomic<uint64_t> g_no_room{0};

void Count(std::atomic<uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

// Returns a slot to the pool at the end of a scope, unless the slot was kept; also when a callback
// ends its thread.
class ScopedGuardedSlot {
 public:
  explicit ScopedGuardedSlot(GuardedSlot* slot) : slot_(slot) {}
  ~ScopedGuardedSlot() {
    if (slot_ != nullptr) TheGuardedPool().Return(slot_);
  }
  ScopedGuardedSlot(const ScopedGuardedSlot&) = delete;
  ScopedGuardedSlot& operator=(const ScopedGuardedSlot&) = delete;

  void Keep() { slot_ = nullptr; }

 private:
  GuardedSlot* slot_;
};

void Report(GuardedSlot* slot, size_t size_bytes, Verdict verdict, const FrameState& caller) {
  heap_client::Block block = {};
  block.size_bytes = size_bytes;
  block.note = &slot->note;
  block.address = reinterpret_cast<const void*>(slot->block);
  if (verdict == Verdict::kFollow) {
    slot->handle = heap_client::ReportFollowed(block, caller);
  } else {
    heap_client::ReportCounted(block, caller);
  }
}

// Returns the slot of a pointer into the pool; nullptr if the slot never had a block.
GuardedSlot* SlotOf(const void* block) {
  return TheGuardedPool().SlotAt(reinterpret_cast<uintptr_t>(block));
}

bool IsStartOf(const GuardedSlot* slot, const void* block) {
  return slot != nullptr && slot->block == reinterpret_cast<uintptr_t>(block);
}

// Returns the error of a free whose pointer is no live block.
MemoryError WhyNotFreed(const GuardedSlot* slot) {
  if (slot == nullptr || slot->Load() == State::kLive) return MemoryError::kInvalidFree;
  return MemoryError::kDoubleFree;
}

// Whether the pair is an error of the host.  A library that has the C++ runtime linked in
// (-static-libstdc++, Rust's) calls its own operator new and delete, which call malloc and free: so
// if a block is passed in or out of such a library, malloc is paired with operator delete, and
// operator new with free.
bool IsMismatch(EntryPoint allocated, EntryPoint freed) {
  if (allocated == freed) return false;
  return allocated == EntryPoint::kNewArray || freed == EntryPoint::kNewArray;
}

// Reports the errors that the free of a live block reveals.
void CheckBlock(const GuardedSlot& slot, size_t size_bytes, EntryPoint entry,
                const FrameState& caller) {
  const EntryPoint allocated = slot.allocated.entry();
  if (IsMismatch(allocated, entry)) {
    ReportAtFree({MemoryError::kMismatchedFree, &slot, slot.block, entry}, caller);
  } else if (entry == allocated && size_bytes != kUnknownSize && size_bytes != slot.size_bytes) {
    ReportAtFree({MemoryError::kWrongSize, &slot, slot.block, entry, size_bytes}, caller);
  }
  if (const uintptr_t overwritten = TheGuardedPool().FindOverwrite(slot)) {
    const MemoryError error =
        overwritten < slot.block ? MemoryError::kUnderwrite : MemoryError::kOverwrite;
    ReportAtFree({error, &slot, overwritten, entry}, caller);
  }
}

}  // namespace

void BeginGuarding(uint32_t one_in, uint64_t seed) {
  const DefaultFloat our_float;
  const SpinLockHolder hold(guarded_pool.lock());
  g_choice.random.Seed(seed, 1);
  g_choice.everything = one_in == 1;
  g_choice.gap_scale = heap_client::GapScale(1.0 / one_in);
  const int64_t gap = heap_client::DrawGap(g_choice.random, g_choice.gap_scale);
  ALLOMON_DCHECK_LT("inv.law.gap", 0, gap);
  g_choice.samples_left = gap;
  guard_is_on.store(true, std::memory_order_release);
}

void EndGuarding() { guard_is_on.store(false, std::memory_order_release); }

// The thread whose decrement reaches 0 guards its block and draws the next number.  Before the new
// number is drawn, other threads count below 0 and guard nothing, for as long as the drawing thread
// is preempted.  This gap is unacceptable if every sample must be guarded, so then nothing is
// counted.
bool DrawGuarded() {
  if (g_choice.everything.load(std::memory_order_relaxed)) return true;
  if (g_choice.samples_left.fetch_sub(1, std::memory_order_relaxed) != 1) return false;
  const DefaultFloat our_float;
  const SpinLockHolder hold(guarded_pool.lock());
  const int64_t gap = heap_client::DrawGap(g_choice.random, g_choice.gap_scale);
  ALLOMON_DCHECK_LT("inv.law.gap", 0, gap);
  g_choice.samples_left.store(gap, std::memory_order_relaxed);
  return true;
}

void* PlaceGuarded(size_t size_bytes, size_t alignment_bytes, EntryPoint entry, Verdict verdict,
                   const FrameState& caller) {
  const ErrnoKeeper keeper;
  GuardedPool& pool = TheGuardedPool();
  GuardedSlot* slot = pool.Take(size_bytes, alignment_bytes);
  if (slot == nullptr) {
    Count(size_bytes > pool.page_bytes() ? g_too_large : g_no_room);
    return nullptr;
  }
  ScopedGuardedSlot scoped(slot);
  slot->allocated.Record(entry, caller);
  Report(slot, size_bytes, verdict, caller);
  slot->BecomeLive();
  scoped.Keep();
  Count(g_guarded);
  return reinterpret_cast<void*>(slot->block);
}

void FreeGuardedSlow(void* block, size_t size_bytes, EntryPoint entry) {
  FreeGuarded(block, size_bytes, entry, ALLOMON_CALLER_FRAME());
}

void FreeGuarded(void* block, size_t size_bytes, EntryPoint entry, const FrameState& caller) {
  const ErrnoKeeper keeper;
  GuardedSlot* slot = SlotOf(block);
  if (!IsStartOf(slot, block) || !slot->BeginEnding()) {
    ReportAtFree({WhyNotFreed(slot), slot, reinterpret_cast<uintptr_t>(block), entry}, caller);
    return;
  }
  CheckBlock(*slot, size_bytes, entry, caller);
  slot->freed.Record(entry, caller);
  // inv.guard.order: the page is returned after the callbacks.
  const ScopedGuardedSlot returned_at_end(slot);
  heap_client::OnFree(slot->handle);
}

size_t GuardedBytes(const void* block) {
  const GuardedSlot* slot = SlotOf(block);
  return IsStartOf(slot, block) && slot->Load() == State::kLive ? slot->size_bytes : 0;
}

GuardedExtent CheckBeforeRealloc(const void* block, const FrameState& caller) {
  const GuardedSlot* slot = SlotOf(block);
  if (IsStartOf(slot, block) && slot->Load() == State::kLive) return {true, slot->size_bytes};
  const uintptr_t address = reinterpret_cast<uintptr_t>(block);
  ReportAtFree({WhyNotFreed(slot), slot, address, EntryPoint::kMalloc}, caller);
  return {false, 0};
}

GuardCounts CountsOfGuard() {
  return {g_guarded.load(std::memory_order_relaxed), g_too_large.load(std::memory_order_relaxed),
          g_no_room.load(std::memory_order_relaxed)};
}

}  // namespace allomon::internal
