#include "runtime/internal/collect/mutator.h"

#include <algorithm>
#include <cstring>

#include "runtime/internal/object/check.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/collect/pending_block.h"
#include "runtime/internal/space/poison.h"
#include "tracker/base/thread_id.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {
namespace {

using heap_client::Block;
using heap_client::BlockHandle;
using heap_client::Verdict;

void ClearWindow(Window& window) {
  window.cursor = 0;
  window.limit.store(0, std::memory_order_relaxed);
  window.first_root = nullptr;
  window.log_top = window.log_limit = nullptr;
  window.mutator = nullptr;
  window.old_cursor = window.old_limit = 0;
  window.marking = false;
}

}  // namespace

Mutator& CurrentMutator() {
  ALLOMON_GC_CHECK(t_window.mutator != nullptr,
                   "rule.attached: this thread is not attached to a heap");
  return *t_window.mutator;
}

bool Mutator::Init(HeapCore* owner, size_t bytes) {
  heap = owner;
  thread_id = allomon::internal::OwnThreadId();
  stack.own = OwnStack();
  if (!nursery.Init(&t_window, bytes, heap->options.stress_every != 0)) return false;
  window = &t_window;
  synced = window->cursor;
  window->first_root = nullptr;
  window->log_top = window->log_limit = nullptr;
  window->mutator = this;
  return true;
}

void Mutator::JoinTracker() {
  sampler.Attach(&window->limit);
  clock.Start(&window->cursor);
  nursery.SetClock(&clock);
}

void Mutator::LeaveTracker() {
  nursery.SetClock(nullptr);
  clock.End();
  sampler.Detach();
}

Mutator::~Mutator() {
  ALLOMON_DCHECK(
      "inv.mutator.state",
      state.load(std::memory_order_relaxed) == MutatorState::kOutside && !sampler.attached());
  if (window != nullptr) ClearWindow(*window);
  backend::Free(log);
}

void Mutator::NoteStand() {
  stack.here.frame_words.clear();
  stack.NoteStand(heap->coroutines);
}

// Counts the words up to the cursor.  The limit is chosen such that they contain no sample.
void Mutator::Sync() {
  if (window->cursor == synced && old.IsSynced()) return;
  const uint64_t words = (window->cursor - synced) / kWordBytes;
  synced = window->cursor;
  allocated_words += words;
  survival.Pass(words);
  const uint64_t old_words = old.Sync();
  if (old_words != 0) heap->CountBornOld(old_words, old_words * kWordBytes);
  survival.PassOld(old_words);
  sampler.Pass(words + old_words);
  ALLOMON_DCHECK_LE("inv.limit", used_bytes(), nursery.granted_bytes());
  ALLOMON_GC_CHECK(sampler.words_left() >= 0, "inv.sample.gap: words passed beyond the next hit");
}

bool Mutator::WantsAttention() const {
  return no_allocation != 0 || !runs() || heap->options.stress_every != 0 ||
         (heap->AnyDue() && !in_finalizer && !heap_client::InCallback()) || MayRunRequest();
}

void Mutator::RequestAttention() {
  // Release: on_request sees the requester's earlier stores.
  requested.store(true, std::memory_order_release);
  // Pairs with the fence in PublishLimit(): either the owner sees the request, or this thread
  // overwrites its limit.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  window->limit.store(0, std::memory_order_relaxed);
}

bool Mutator::MayRunRequest() const {
  return requested.load(std::memory_order_relaxed) && !in_finalizer && !heap_client::InCallback();
}

void Mutator::RunRequest() {
  if (!MayRunRequest() || !requested.exchange(false, std::memory_order_acquire)) return;
  if (heap->options.on_request != nullptr) heap->options.on_request();
}

// The words before the next sample are shared out between the nursery and the old window.  Each
// word stands trial when it is allocated: a slow path counts both before it judges.
void Mutator::ShareGap() {
  uint64_t left = static_cast<uint64_t>(sampler.words_left());
  uint64_t old_words = std::min({old.room_words(), left / 2, survival.old_words_left()});
  // The clock of a profile must see each object.
  if (allomon::internal::managed_profiler.load(std::memory_order_relaxed) != nullptr) old_words = 0;
  old.SetLimit(old_words);
  left = std::min(left - old_words, survival.words_left());
  uncut_limit = window->cursor + std::min(left, nursery.room_bytes() / kWordBytes) * kWordBytes;
}

void Mutator::PublishLimit() {
  ALLOMON_DCHECK("inv.mutator.state", runs() && t_window.mutator == this);
  Sync();
  ShareGap();
  const uintptr_t limit = Nursery::CutAtRun(uncut_limit, window->cursor);
  window->limit.store(WantsAttention() ? 0 : limit, std::memory_order_relaxed);
  // Pairs with the fences in World::RequestStopLocked() and in the tracker's PublishLocked().
  // Either this thread sees the request in the next load, or the requester overwrites this limit.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (heap->world.stopping() || sampler.stale() || MayRunRequest()) {
    window->limit.store(0, std::memory_order_relaxed);
  }
}

void Mutator::LeaveNursery() {
  nursery.Leave(heap->young);
  synced = window->cursor;
}

// Unlike PublishLimit(), this needs no fence: a request stores 0 into the limit that is exchanged
// here. Either the exchange fails, or the 0 is stored after it.
char* Mutator::TryNextRun(size_t bytes) {
  const uintptr_t start = window->cursor;
  const uintptr_t end = start + bytes;
  uintptr_t limit = window->limit.load(std::memory_order_relaxed);
  if (limit == 0 || end > uncut_limit) return nullptr;
  const uintptr_t next_limit = Nursery::CutAtRun(uncut_limit, end);
  if (!window->limit.compare_exchange_strong(limit, next_limit, std::memory_order_relaxed)) {
    return nullptr;
  }
  window->cursor = end;
  nursery.NotePassed(start);
  ALLOMON_GC_UNPOISON(reinterpret_cast<void*>(start), bytes);
  return reinterpret_cast<char*>(start);
}

void Mutator::CheckMayAllocate() const {
  ALLOMON_GC_CHECK(no_allocation == 0, "rule.no_allocation: allocation in a NoAllocation scope");
  ALLOMON_GC_CHECK(runs(), "rule.native: the heap was used in a NativeRegion");
}

// The waiting function has noted the stand point and its frame.
void Mutator::EnterNative() {
  stack.NoteStand(heap->coroutines);
  window->limit.store(0, std::memory_order_relaxed);
  heap->world.EnterNative(*this);
}

void Mutator::LeaveNative() {
  heap->world.LeaveNative(*this);
  PublishLimit();
}

void Mutator::Attend() {
  CheckMayAllocate();
  heap->world.ParkIfStopping(*this);
  const uint32_t every = heap->options.stress_every;
  if (every != 0 && ++stress_count % every == 0) {
    const bool major = stress_count / every % 64 == 0;
    heap->Collect(major ? CollectionKind::kMajor : CollectionKind::kMinor, this);
  }
  heap->RunDue(this);
  RunRequest();
}

void Mutator::SafepointSlow() {
  const LimitPublisher publisher(*this);
  Sync();
  Attend();
}

bool Mutator::FindRoom(size_t bytes) {
  if (nursery.Fits(bytes)) return true;
  if (used_bytes() + bytes > nursery.granted_bytes()) return false;
  Sync();
  if (!nursery.TakeHole(bytes)) return false;
  synced = window->cursor;
  return nursery.Fits(bytes);
}

// Collects until `bytes` fit.  Throws std::bad_alloc when nothing helps.
void Mutator::MakeRoom(size_t bytes) {
  if (FindRoom(bytes)) return;
  heap->CollectForRoom(*this);
  if (FindRoom(bytes)) return;
  do {
    heap->Collect(CollectionKind::kMajor, this);
    if (FindRoom(bytes)) return;
  } while (heap->AskForMemory(bytes));
  throw std::bad_alloc();
}

BlockHandle Mutator::Sample(const Request& request, FrameState caller) {
  // Callbacks at this safepoint have allocated in the present gap of the sampler; the judgement may
  // begin another gap.
  Sync();
  const Verdict verdict = heap_client::JudgeManagedSlow(sampler, request.trial_words);
  // The gap is shorter now, or a new one.  The limit 0 sends allocations of callbacks and of the
  // out-of-memory handler to the slow path until the limit is published again.
  window->limit.store(0, std::memory_order_relaxed);
  if (verdict == Verdict::kNotSampled) return 0;
  Block block;
  block.size_bytes = request.size_bytes;
  block.source = request.source;
  block.young = request.young;
  block.type_name = request.type.name;
  std::exception_ptr thrown;
  const BlockHandle handle = heap_client::ReportManaged(sampler, block, caller, &thrown);
  if (thrown != nullptr) std::rethrow_exception(thrown);
  Sync();
  return handle;
}

char* Mutator::AllocateYoungSlow(size_t bytes, uintptr_t header, AllocationSource source,
                                 FrameState caller) {
  const LimitPublisher publisher(*this);
  Sync();
  Attend();
  MakeRoom(bytes);
  heap->RunDue(this);
  const Request request = {bytes / kWordBytes, bytes - kWordBytes, source, true, TypeOf(header)};
  PendingBlock pending(*this, Sample(request, caller));
  // Callbacks may have filled the nursery again.
  MakeRoom(bytes);
  Sync();
  // No user code runs between this line and the caller's write of the header.
  ALLOMON_DCHECK("inv.sample.before", nursery.Fits(bytes) && synced == window->cursor);
  char* start = reinterpret_cast<char*>(window->cursor);
  pending.Become(reinterpret_cast<Object*>(start + kWordBytes), true);
  window->cursor += bytes;
  nursery.NotePassed(reinterpret_cast<uintptr_t>(start));
  synced = window->cursor;  // Sample() has already judged these words
  allocated_words += bytes / kWordBytes;
  follow_next = survival.Take(bytes / kWordBytes);
  ALLOMON_GC_UNPOISON(start, bytes);
  return start;
}

// The block does not move, because the caller's stack refers to it.
void Mutator::SampleCustom(Object* block, uint64_t bytes, FrameState caller) {
  const LimitPublisher publisher(*this);
  Sync();
  clock.Add(bytes);
  PendingBlock pending(*this, Sample({BytesToWords(bytes), bytes, AllocationSource::kCustom,
                                      IsYoung(block), TypeOf(HeaderOf(block))},
                                     caller));
  pending.Become(block, IsYoung(block));
}

Object* Mutator::AllocateLargeSlow(uint64_t words, uint64_t size_bytes, uintptr_t header,
                                   AllocationSource source, FrameState caller) {
  const LimitPublisher publisher(*this);
  Sync();
  Attend();
  const size_t bytes = LargeSpace::BytesFor(words);
  if (heap->WantsMajor(bytes)) heap->CollectForGrowth(*this);
  heap->RunDue(this);
  PendingBlock pending(*this, Sample({words, size_bytes, source, false, TypeOf(header)}, caller));
  Object* object = heap->AllocateLarge(words);
  while (object == nullptr) {
    heap->Collect(CollectionKind::kMajor, this);
    object = heap->AllocateLarge(words);
    if (object == nullptr && !heap->AskForMemory(bytes)) throw std::bad_alloc();
  }
  // No user code runs between this line and the caller's write of the header.
  heap->CountBornOld(words, bytes);
  clock.Add(words * kWordBytes);
  pending.Become(object, false);
  return object;
}

}  // namespace allomon::gc::internal
