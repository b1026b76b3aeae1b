#include "allocator/sampled_block.h"

#include <cstring>

#include "allocator/alloc_path.h"
#include "allocator/guard/guarded_block.h"
#include "allocator/host/malloc_owner.h"
#include "allocator/host/next_function.h"
#include "allocator/host/page_move.h"
#include "allocator/host/program_malloc.h"
#include "allocator/host/writing_reserve.h"
#include "allocator/in_place.h"
#include "allocator/range/sampled_range.h"
#include "tracker/base/check.h"
#include "tracker/base/errno_keeper.h"

namespace allomon::internal {
namespace {

using heap_client::Block;
using heap_client::BlockHandle;
using heap_client::Verdict;

std::atomic<uint64_t> g_double_frees{0};

// The arguments of an allocation.  Every block has an alignment of at least 8.  A Request is passed
// by value: constant fields stay constants when the callee is inlined.
struct Request {
  size_t size_bytes;
  size_t alignment_bytes = 8;
  bool zeroed = false;
  EntryPoint entry = EntryPoint::kMalloc;
};

__attribute__((always_inline)) inline void* FromBackend(Request request) {
  if (request.alignment_bytes > 8) {
    return backend::Aligned(request.alignment_bytes, request.size_bytes);
  }
  return request.zeroed ? backend::Calloc(request.size_bytes) : backend::Malloc(request.size_bytes);
}

Block BlockOf(size_t size_bytes, const void* address = nullptr) {
  Block block = {};
  block.size_bytes = size_bytes;
  block.address = address;
  return block;
}

// Reports a block that the backend has given, or the backend's failure to give one.
__attribute__((always_inline)) inline void* ReportFromBackend(void* block, size_t size_bytes,
                                                              const FrameState& caller) {
  const ErrnoKeeper keeper;
  if (block == nullptr) {
    heap_client::DropSample(BlockOf(size_bytes));
  } else {
    heap_client::ReportCounted(BlockOf(size_bytes), caller);
  }
  return block;
}

// Takes a block from the backend when there is no room in the sampled range.  Sessions that only
// count still learn of the block.  nullptr if the backend has no block either.
void* ReportUnplaced(Request request, const FrameState& caller) {
  void* block = FromBackend(request);
  if (block == nullptr) {
    heap_client::DropSample(BlockOf(request.size_bytes));
  } else {
    heap_client::ReportUnplaced(BlockOf(request.size_bytes), caller);
  }
  return block;
}

// A slot or run of the sampled range, released at the end of a scope unless Keep() was called.  It
// is released also when a callback ends its thread and the stack unwinds.
class ScopedSlot {
 public:
  ScopedSlot(void* block, HandleWord* word) : block_(block), word_(word) {}
  ~ScopedSlot() {
    if (word_ != nullptr) TheSampledRange().Release(block_, word_);
  }
  ScopedSlot(const ScopedSlot&) = delete;
  ScopedSlot& operator=(const ScopedSlot&) = delete;

  void Keep(BlockHandle handle) {
    GiveHandle(word_, handle);
    word_ = nullptr;
  }

 private:
  void* const block_;
  HandleWord* word_;
};

#ifdef ALLOMON_BACKEND_FOLLOWS_IN_PLACE
// An ordinary block that is entered as in place; freed at the end of a scope unless Keep() was
// called, as when a callback ends its thread.
class ScopedInPlace {
 public:
  explicit ScopedInPlace(Request request) : block_(FromBackend(request)) {
    if (block_ == nullptr || backend::EnterInPlace(block_)) return;
    backend::Free(block_);
    block_ = nullptr;
  }
  ~ScopedInPlace() {
    if (block_ != nullptr) backend::Free(block_);
  }
  ScopedInPlace(const ScopedInPlace&) = delete;
  ScopedInPlace& operator=(const ScopedInPlace&) = delete;

  const void* block() const { return block_; }
  void* Keep(BlockHandle handle) {
    backend::FollowInPlace(block_, handle);
    void* const block = block_;
    block_ = nullptr;
    return block;
  }

 private:
  void* block_;
};

// Returns an ordinary block that is followed, or that no session follows; nullptr if the block must
// be placed elsewhere.
__attribute__((noinline, cold)) void* PlaceInPlace(Request request, const FrameState& caller) {
  if (request.size_bytes > backend::kLargestUnmappedBytes) return nullptr;
  ScopedInPlace place(request);
  if (place.block() == nullptr) return nullptr;
  CountInPlace();
  return place.Keep(
      heap_client::ReportFollowed(BlockOf(request.size_bytes, place.block()), caller));
}
#else
void* PlaceInPlace(Request, const FrameState&) { return nullptr; }
#endif

// Returns a block in the sampled range, or in place, with the tracker's handle.  nullptr if no
// session follows the block; the caller then takes a block from the backend.
void* PlaceFollowed(Request request, const FrameState& caller) {
  const ErrnoKeeper keeper;
  if (DrawInPlace()) {
    if (void* block = PlaceInPlace(request, caller)) return block;
  }
  SampledRange& range = TheSampledRange();
  bool zeroed = false;
  HandleWord* word = nullptr;
  void* block = range.Allocate(request.size_bytes, request.alignment_bytes, &zeroed, &word);
  if (block == nullptr) {
    if (!HasHighAddresses() && KeepSamplesInPlace(1)) {
      if (void* in_place = PlaceInPlace(request, caller)) return in_place;
    }
    return ReportUnplaced(request, caller);
  }
  ScopedSlot slot(block, word);
  const BlockHandle handle =
      heap_client::ReportFollowed(BlockOf(request.size_bytes, block), caller);
  if (handle == 0) return nullptr;
  slot.Keep(handle);
  if (request.zeroed && !zeroed) memset(block, 0, request.size_bytes);
  return block;
}

// Returns a guarded block, and answers the verdict.  nullptr if the guard does not choose the block
// or has no room for it.
__attribute__((noinline, cold)) void* PlaceGuardedIfChosen(Request request, Verdict verdict,
                                                           const FrameState& caller) {
  if (verdict == Verdict::kNotSampled || !DrawGuarded()) return nullptr;
  return PlaceGuarded(request.size_bytes, request.alignment_bytes, request.entry, verdict, caller);
}

// Inlined into each entry, where most of the request is constant.
__attribute__((always_inline)) inline void* Allocate(Request request, const FrameState& caller) {
  const Verdict verdict = heap_client::JudgeAllocationSlow(TrialWordsOf(request.size_bytes));
  if (__builtin_expect(GuardIsOn(), 0)) {
    if (void* block = PlaceGuardedIfChosen(request, verdict, caller)) return block;
  }
  switch (verdict) {
    case Verdict::kNotSampled:
      break;
    case Verdict::kCount:
      return ReportFromBackend(FromBackend(request), request.size_bytes, caller);
    case Verdict::kFollow:
      if (void* block = PlaceFollowed(request, caller)) return block;
      break;
  }
  return FromBackend(request);
}

// Copies the contents of the old block, which is freed next, into its successor.
void Succeed(void* block, void* old_block, size_t size_bytes) {
  ALLOMON_DCHECK_NE("inv.move.apart", block, old_block);
  if (TheSampledRange().Contains(block)) return MoveContents(block, old_block, size_bytes);
  memcpy(block, old_block, size_bytes);
}

// inv.slot.order: the callbacks run before the memory may be used again.
void FreeSampled(void* block) {
  const ErrnoKeeper keeper;
  HandleWord* word = TheSampledRange().Find(block);
  const BlockHandle handle = TakeHandle(word);
  if (handle == kNotAllocated) {
    return CountDoubleFree();
  }
  const ScopedSlot released_at_end(block, word);
  heap_client::OnFree(handle);
}

// Copies a block of the backend to its successor, and frees the old block.  If the backend has no
// memory to find what to copy, the old block stays valid and the result is nullptr.
void* MoveFromBackend(void* old_block, void* block, size_t size_bytes) {
#ifdef ALLOMON_BACKEND_IS_THE_HOSTS
  // Bytes beyond the block's end may be unmapped.  Only the program's realloc knows what to copy.
  // Its pages are not moved: they may be shared, and would then be in both places.
  size_t old_bytes = 0;
  void* const readable = backend::ReallocToCopy(old_block, size_bytes, &old_bytes);
  if (readable == nullptr) {
    FreeHighSlow(block, kUnknownSize, EntryPoint::kMalloc);
    return nullptr;
  }
  memcpy(block, readable, old_bytes < size_bytes ? old_bytes : size_bytes);
  backend::Free(readable);
#else
  const size_t old_bytes = backend::UsableSize(old_block);
  Succeed(block, old_block, old_bytes < size_bytes ? old_bytes : size_bytes);
  backend::Free(old_block);
#endif
  return block;
}

// Takes the new block before it ends the old one.  Without memory the old block stays valid, as C
// requires of realloc.  On success the contents of the old block are lost.
void* SuccessorOf(void* old_block, size_t old_bytes, size_t size_bytes, const FrameState& caller) {
  const bool hit = heap_client::CountDown(TrialWordsOf(size_bytes));
  const Request request = {size_bytes};
  void* block = hit ? Allocate(request, caller) : FromBackend(request);
  if (block != nullptr) Succeed(block, old_block, old_bytes < size_bytes ? old_bytes : size_bytes);
  return block;
}

void* ReallocateSampled(void* old_block, size_t size_bytes, const FrameState& caller) {
  const size_t old_bytes = TheSampledRange().UsableBytes(old_block);
  void* block = SuccessorOf(old_block, old_bytes, size_bytes, caller);
  if (block != nullptr) FreeSampled(old_block);
  return block;
}

void* ReallocateGuarded(void* old_block, size_t size_bytes, const FrameState& caller) {
  const GuardedExtent old = CheckBeforeRealloc(old_block, caller);
  if (!old.exists) return nullptr;
  void* block = SuccessorOf(old_block, old.size_bytes, size_bytes, caller);
  if (block != nullptr) FreeGuarded(old_block, kUnknownSize, EntryPoint::kMalloc, caller);
  return block;
}

// Each fast path decrements the countdown, so it is reset here to be below zero at the next call,
// too.  Where the malloc of the program is seen, that has the countdown: the words are given back.
__attribute__((noinline, cold)) void* PassAllocationOn(Function function, size_t size_bytes,
                                                       uintptr_t first, uintptr_t second = 0) {
  if (program_malloc_is_seen) {
    heap_client::CountDown(0 - TrialWordsOf(size_bytes));
  } else {
    countdown_words.store(0, std::memory_order_relaxed);
  }
  return PassOn(function, first, second);
}

void PassFreeOn(void* block) { PassOn(Function::kFree, block); }

}  // namespace

void* AllocateSlow(size_t size_bytes, EntryPoint entry) {
  if (__builtin_expect(StandsAside(), 0)) {
    return PassAllocationOn(entry == EntryPoint::kMalloc ? Function::kMalloc : Function::kNew,
                            size_bytes, size_bytes);
  }
  return Allocate(Request{size_bytes, 8, false, entry}, ALLOMON_CALLER_FRAME());
}

void* AllocateZeroedSlow(size_t size_bytes) {
  if (__builtin_expect(StandsAside(), 0)) {
    return PassAllocationOn(Function::kCalloc, size_bytes, 1, size_bytes);
  }
  return Allocate(Request{size_bytes, 8, true}, ALLOMON_CALLER_FRAME());
}

void* AllocateAlignedSlow(size_t alignment_bytes, size_t size_bytes, EntryPoint entry) {
  if (__builtin_expect(StandsAside(), 0)) {
    return PassAllocationOn(Function::kMemalign, size_bytes, alignment_bytes, size_bytes);
  }
  return Allocate(Request{size_bytes, alignment_bytes, false, entry}, ALLOMON_CALLER_FRAME());
}

void* ReallocateSlow(void* old_block, size_t size_bytes) {
  const FrameState& caller = ALLOMON_CALLER_FRAME();
  const Request request = {size_bytes};
  const Verdict verdict = heap_client::JudgeAllocationSlow(TrialWordsOf(size_bytes));
  if (__builtin_expect(GuardIsOn(), 0)) {
    void* block = PlaceGuardedIfChosen(request, verdict, caller);
    if (block != nullptr) return MoveFromBackend(old_block, block, size_bytes);
  }
  switch (verdict) {
    case Verdict::kNotSampled:
      break;
    case Verdict::kCount:
      return ReportFromBackend(backend::Realloc(old_block, size_bytes), size_bytes, caller);
    case Verdict::kFollow:
      if (void* block = PlaceFollowed(request, caller)) {
        return MoveFromBackend(old_block, block, size_bytes);
      }
      break;
  }
  return backend::Realloc(old_block, size_bytes);
}

// A library that stands aside has neither a range nor a pool, so this order of tests costs its
// callers nothing.
void FreeHighSlow(void* block, size_t size_bytes, EntryPoint entry) {
  ALLOMON_DCHECK("inv.free.suspect",
                 malloc_owner <= MallocOwner::kHost || IsSuspect(block, kHighestSuspectsFrom));
  if (TheSampledRange().Contains(block)) return FreeSampled(block);
  if (IsGuarded(block)) return FreeGuardedSlow(block, size_bytes, entry);
  if (IsInReserve(block)) return ReleaseToReserve();
  if (StandsAside()) return PassFreeOn(block);
  backend::Free(block);
}

void* ReallocateHighSlow(void* block, size_t size_bytes) {
  if (TheSampledRange().Contains(block)) {
    return ReallocateSampled(block, size_bytes, ALLOMON_CALLER_FRAME());
  }
  if (IsGuarded(block)) return ReallocateGuarded(block, size_bytes, ALLOMON_CALLER_FRAME());
  if (StandsAside()) return PassOn(Function::kRealloc, block, size_bytes);
  if (heap_client::CountDown(TrialWordsOf(size_bytes))) return ReallocateSlow(block, size_bytes);
  return backend::Realloc(block, size_bytes);
}

size_t UsableSizeOfHighSlow(const void* block) {
  if (TheSampledRange().Contains(block)) return TheSampledRange().UsableBytes(block);
  if (IsGuarded(block)) return GuardedBytes(block);
  if (!StandsAside()) return backend::UsableSize(block);
  return reinterpret_cast<size_t>(
      PassOn(Function::kMallocUsableSize, reinterpret_cast<uintptr_t>(block)));
}

void CountDoubleFree() { g_double_frees.fetch_add(1, std::memory_order_relaxed); }
uint64_t DoubleFrees() { return g_double_frees.load(std::memory_order_relaxed); }

}  // namespace allomon::internal
