#include "runtime/internal/collect/mutator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/internal/object/check.h"
#include "runtime/internal/space/poison.h"
#include "tracker/base/thread_id.h"
#include "tracker/managed_profiler.h"

namespace allomon::gc::internal {

// More than the frames of the functions of the runtime that stand have.  What a destructor or a
// fork waits for must not need memory.
constexpr size_t kFrameWords = 128;

Mutator& CurrentMutator() {
  ALLOMON_GC_CHECK(t_window.mutator != nullptr,
                   "rule.attached: this thread is not attached to a heap");
  return *t_window.mutator;
}

bool Mutator::Init(HeapCore* owner, CoroutineStacks* stacks, const StackRange& own_stack,
                   size_t bytes, bool stressed) {
  heap = owner;
  coroutines = stacks;
  BeginThread(own_stack);
  if (!TryReserve(stack.here.frame_words, kFrameWords)) return false;
  if (!nursery.Init(&t_window, bytes, stressed)) return false;
  window = &t_window;
  synced = window->cursor;
  window->first_root = nullptr;
  window->log_top = window->log_limit = nullptr;
  window->mutator = this;
  return GrowLog();
}

void Mutator::BeginThread(const StackRange& own_stack) {
  thread_id = allomon::internal::OwnThreadId();
  // The room for the words of a frame stays.
  Vector<uintptr_t> frame_words = std::move(stack.here.frame_words);
  frame_words.clear();
  stack = {};
  stack.here.frame_words = std::move(frame_words);
  stack.own = own_stack;
  was_late = false;
}

void Mutator::MoveWindow(Window* to) {
  window->MoveTo(to);
  window = to;
  nursery.SetWindow(to);
  old.SetWindow(to);
}

void Mutator::MoveOut() {
  ALLOMON_DCHECK("inv.mutator.left", window->first_root == nullptr && ranges.empty());
  stack.here.Clear();
  LeaveTracker();
  MoveWindow(&own_window);
  // After the window has gone: a signal handler of this thread finds no mutator to request from.
  requested.store(false, std::memory_order_relaxed);
}

void Mutator::MoveIn(const StackRange& own_stack) {
  BeginThread(own_stack);
  MoveWindow(&t_window);
  JoinTracker();
}

bool Mutator::GrowLog() {
  constexpr size_t kFirstCapacity = 4096;
  const size_t used = static_cast<size_t>(window->log_top - log);
  const size_t capacity = std::max(kFirstCapacity, log_capacity * 2);
  void* const grown = backend::Realloc(log, (capacity + capacity / kSpareLogPart) * sizeof(Slot*));
  if (grown == nullptr) return false;
  log = static_cast<Slot**>(grown);
  log_capacity = capacity;
  window->log_top = log + used;
  window->log_limit = log + capacity;
  return true;
}

bool Mutator::UseSpareLog(size_t used) {
  const size_t slots = log_capacity + log_capacity / kSpareLogPart;
  log_is_short = true;
  window->log_limit = log + slots;
  return used < slots;
}

void Mutator::EmptyLog() {
  window->log_top = log;
  window->log_limit = log + log_capacity;
  log_is_short = false;
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
  if (window != nullptr) window->Clear();
  backend::Free(log);
}

size_t Mutator::NurseryBytes() const {
  return std::max(nursery.size_bytes(), nursery.wanted_bytes());
}

void* Mutator::operator new(size_t size_bytes) noexcept { return backend::Malloc(size_bytes); }
void Mutator::operator delete(void* mutator) { backend::Free(mutator); }

void Mutator::NoteStand() {
  stack.here.frame_words.clear();
  stack.NoteStand(*coroutines);
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

void Mutator::LeaveNursery(YoungSpace& young) {
  nursery.Leave(young);
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

void AddValueStack(Slot* slots, const size_t* count) {
  CurrentMutator().ranges.push_back({slots, count});
}

namespace {

// The last ones were mostly made last.
size_t PlaceOfValueStack(const Vector<RootRange>& ranges, const Slot* slots) {
  for (size_t i = ranges.size(); i-- > 0;) {
    if (ranges[i].slots == slots) return i;
  }
  Fail("rule.value_stack.thread: a ValueStack belongs to the thread that made it");
}

}  // namespace

void MoveValueStack(const Slot* slots, Slot* to) {
  Vector<RootRange>& ranges = CurrentMutator().ranges;
  ranges[PlaceOfValueStack(ranges, slots)].slots = to;
}

void RemoveValueStack(const Slot* slots) {
  Vector<RootRange>& ranges = CurrentMutator().ranges;
  const size_t place = PlaceOfValueStack(ranges, slots);
  ranges.erase(ranges.begin() + static_cast<ptrdiff_t>(place));
}

}  // namespace allomon::gc::internal
