#include "tracker/heap_client.h"

#include <utility>

#include "tracker/base/default_float.h"
#include "tracker/base/words.h"
#include "tracker/core/busy_mark.h"
#include "tracker/core/callback_scope.h"
#include "tracker/core/captured_stack.h"
#include "tracker/core/entries.h"
#include "tracker/core/exception_carrier.h"
#include "tracker/core/label_scope.h"
#include "tracker/core/label_sets.h"
#include "tracker/core/managed_sampler.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/registry.h"
#include "tracker/core/thread_registration.h"
#include "tracker/core/type_names.h"
#include "tracker/sampling/random.h"
#include "tracker/sampling/trial.h"

namespace allomon::heap_client {
namespace {

using namespace ::allomon::internal;  // NOLINT: this file is the tracker's own face

__thread Trial t_trial __attribute__((ALLOMON_TLS_MODEL));

// A gap of g lets g - 1 words pass.
int64_t FreshCountdown(ThreadState& thread) {
  if (thread.active.rate <= 0) return kNeverWords;
  return DrawGap(thread.bits, thread.active.gap_scale) - 1;
}

// Returns the countdown as it would be without a wake-up, which has set it to 0.
int64_t TakeLeftWhenWoken(ThreadState& thread, int64_t left) {
  const int64_t when_woken = thread.left_when_woken.exchange(0, std::memory_order_relaxed);
  return left == 0 ? when_woken : left;
}

// Brings the thread into the current epoch.  `left` is the countdown before the block that is
// judged; returns its new value at that point.
__attribute__((noinline)) int64_t EnterEpochSlow(ThreadState& thread, int64_t left) {
  if (!thread.registered) RegisterThreadSlow(thread);
  RefreshThreadSlow(thread);
  const int64_t fresh = FreshCountdown(thread);
  thread.meter.Set(TakeLeftWhenWoken(thread, left), fresh);
  thread.meter.EnterSessions(thread.active, fresh);
  return fresh;
}

// Four requests of half the address space use up even the gap of a thread that is never sampled.
__attribute__((noinline, cold)) Verdict EndLongestGap(ThreadState& thread, int64_t left) {
  thread.meter.Set(left, kNeverWords);
  SetCountdown(thread, kNeverWords);
  return Verdict::kNotSampled;
}

// Draws the trial of a block that is hit: its (left + words)-th word is the first hit.  `left` is
// the negative countdown after the block.
Verdict DrawTrial(ThreadState& thread, int64_t left, uint64_t words) {
  const uint64_t behind_hit = static_cast<uint64_t>(-left - 1);
  if (__builtin_expect(thread.active.rate <= 0, 0)) return EndLongestGap(thread, left);
  // In a signal handler that interrupted CountDown(), `left` includes the words of both blocks.
  DrawHits(thread.active, thread.bits, behind_hit < words ? behind_hit : words - 1, &t_trial);
  const int64_t fresh = FreshCountdown(thread);
  thread.meter.Set(left, fresh);
  SetCountdown(thread, fresh);
  return thread.active.follows_blocks ? Verdict::kFollow : Verdict::kCount;
}

Verdict JudgeBusy(ThreadState& thread, uint64_t words) {
  int64_t left = countdown_words.load(std::memory_order_relaxed);
  if (thread.epoch_seen.load(std::memory_order_relaxed) != Registry::Get().epoch()) {
    const int64_t taken = static_cast<int64_t>(words);
    left = EnterEpochSlow(thread, left + taken) - taken;
    SetCountdown(thread, left);
  }
  // The countdown may not be below zero in the same epoch either: if a signal handler allocated
  // between our CountDown() and here, the handler has taken the hit.
  if (left >= 0) return Verdict::kNotSampled;
  return DrawTrial(thread, left, words);
}

// Ends the trial that JudgeAllocationSlow() began, even if a callback ends its thread.
struct EndOfTrial {
  ThreadState& thread;
  ~EndOfTrial() { thread.busy = false; }
};

// Keeps the thread busy only for a verdict that the heap must answer.
struct JudgedWhileBusy {
  ThreadState& thread;
  Verdict verdict = Verdict::kNotSampled;
  ~JudgedWhileBusy() {
    if (verdict == Verdict::kNotSampled) thread.busy = false;
  }
};

}  // namespace

Verdict JudgeAllocationSlow(uint64_t words) {
  ThreadState& thread = CurrentThread();
  if (thread.in_callback) {
    // Only a wake-up leads here; the epoch is entered after the callback.
    countdown_words.store(kNeverWords, std::memory_order_relaxed);
    return Verdict::kNotSampled;
  }
  // An allocation by the tracker's own system calls, or by a signal handler that interrupted it:
  // the interrupted code is about to set the countdown.
  if (thread.busy) return Verdict::kNotSampled;
  const DefaultFloat our_float;
  thread.busy = true;
  JudgedWhileBusy judged{thread};
  return judged.verdict = JudgeBusy(thread, words);
}

namespace {

// The stack and labels at an allocation.
struct Origin {
  CapturedStack stack;
  LabelSet labels;
};

Allocation MakeAllocation(const Block& block, uint64_t hits, double rate, const Origin& origin,
                          uint32_t callstack_size) {
  Allocation allocation;
  allocation.n_samples = hits;
  allocation.size_bytes = block.size_bytes;
  allocation.size_words = WordsOf(block.size_bytes);
  allocation.source = block.source;
  allocation.is_mapped = block.is_mapped;
  allocation.rate = rate;
  allocation.callstack = CallstackOf(origin.stack.id, origin.stack.view, callstack_size);
  allocation.labels = origin.labels;
  allocation.type_name = block.type_name;
  allocation.address = block.address;
  return allocation;
}

__attribute__((always_inline)) inline bool RunAlloc(Session& session, const Block& block,
                                                    const Allocation& allocation,
                                                    ValueRoom* value) {
  CountReport(CurrentThread(), session, allocation.n_samples, allocation.callstack.cut());
  return block.young ? session.client().AllocMinor(allocation, value)
                     : session.client().AllocMajor(allocation, value);
}

void CountUnfollowed(Session& session, const Block& block) {
  session.counters().dropped_blocks.fetch_add(1, std::memory_order_relaxed);
  session.counters().dropped_bytes.fetch_add(block.size_bytes, std::memory_order_relaxed);
}

void CountDrop(Session& session, const Block& block) {
  CountUnfollowed(session, block);
  session.client().Dropped(block.size_bytes);
}

// Not inlined: its slot is an array, for which the compiler would guard Report()'s stack.
__attribute__((noinline)) void ReportWithoutEntry(Session& session, const Block& block,
                                                  const Allocation& allocation) {
  ValueRoom value;
  if (!RunAlloc(session, block, allocation, &value)) return;
  if (block.young) {
    session.client().DestroyMinor(&value);
  } else {
    session.client().DestroyMajor(&value);
  }
}

// `next` is the rest of the block's chain; the entry becomes its new head.
void FillEntry(Entry& entry, Session& session, const Allocation& allocation, EntryId next) {
  entry.Begin(session.id());
  entry.next.store(next, std::memory_order_relaxed);
  entry.stack.store(allocation.callstack.id(), std::memory_order_relaxed);
  entry.size_bytes.store(allocation.size_bytes, std::memory_order_relaxed);
  entry.n_samples.store(allocation.n_samples, std::memory_order_relaxed);
  entry.source.store(allocation.source, std::memory_order_relaxed);
  entry.is_mapped.store(allocation.is_mapped, std::memory_order_relaxed);
  entry.labels.store(allocation.labels.id(), std::memory_order_relaxed);
  entry.type.store(type_names.IdOf(allocation.type_name), std::memory_order_relaxed);
}

// Destroys the value if describe ends its thread, since no dealloc will take it.
class Undescribed {
 public:
  Undescribed(Session& session, ValueRoom* value) : session_(session), value_(value) {}
  ~Undescribed() {
    if (value_ != nullptr) session_.client().DestroyMajor(value_);
  }
  Undescribed(const Undescribed&) = delete;
  Undescribed& operator=(const Undescribed&) = delete;

  void Keep() { value_ = nullptr; }

 private:
  Session& session_;
  ValueRoom* value_;
};

void Describe(Session& session, ValueRoom* value, BlockNote* note) {
  Undescribed undescribed(session, value);
  session.client().Describe(value, note);
  undescribed.Keep();
}

// The entry is made before the callback runs: a block that cannot be followed to its end is dropped
// completely.
EntryId ReportWithEntry(Session& session, const Block& block, const Allocation& allocation,
                        EntryId next) {
  const EntryId id = AllocateEntry(CurrentThread());
  if (id == 0) {
    CountDrop(session, block);
    return 0;
  }
  ScopedEntry scoped(id);
  Entry& entry = Entries().At(id);
  FillEntry(entry, session, allocation, next);
  if (!RunAlloc(session, block, allocation, &entry.value)) return 0;
  if (block.note != nullptr) Describe(session, &entry.value, block.note);
  MakeLive(session, entry, id, block.young ? EntryState::kLiveMinor : EntryState::kLiveMajor);
  return scoped.Keep();
}

// Whether the heap can place the block for sessions that follow it.
enum class Placement { kPlaced, kUnplaced };

// Returns the new entry, whose next is `next`; 0 if there is none.
EntryId ReportToSession(const ActiveSet::Item& item, const Block& block, uint64_t hits,
                        const Origin& origin, Placement placement, EntryId next) {
  PinnedSession session(item.id);
  if (!session || !session->sampling()) return 0;
  const Session::Config& config = session->config();
  if (config.follows_blocks && placement == Placement::kUnplaced) {
    CountDrop(*session, block);
    return 0;
  }
  const Allocation allocation =
      MakeAllocation(block, hits, item.law.rate, origin, config.callstack_size);
  if (config.follows_blocks) return ReportWithEntry(*session, block, allocation, next);
  ReportWithoutEntry(*session, block, allocation);
  return 0;
}

// Adds `entry` at the head of the block's chain.
EntryId Chain(EntryId head, EntryId entry) {
  if (entry == 0) return head;
  Entries().At(entry).next.store(head, std::memory_order_relaxed);
  return entry;
}

// Removes the first entry of a chain that is not empty.  Call it before the entry may be released.
EntryId TakeFirst(EntryId* head) {
  return std::exchange(*head, Entries().At(*head).next.load(std::memory_order_relaxed));
}

// The entries of a block that is dead, or that will not exist because a callback ended its thread
// while the block was reported.  Their trackers are told of the death with the other postponed
// deallocs.
class DyingChain {
 public:
  DyingChain(ThreadState& thread, EntryId head) : thread_(thread), head_(head) {}
  __attribute__((always_inline)) ~DyingChain() {
    while (head_ != 0) PostponeDealloc(thread_, TakeFirst(&head_));
  }
  DyingChain(const DyingChain&) = delete;
  DyingChain& operator=(const DyingChain&) = delete;

  EntryId head() const { return head_; }
  // Makes an entry whose next is head() the new head; 0 is ignored.
  void StandInFront(EntryId entry) {
    if (entry != 0) head_ = entry;
  }
  EntryId Keep() { return std::exchange(head_, 0); }
  void RunDeallocs() {
    while (head_ != 0) DeallocEntry(TakeFirst(&head_));
  }

 private:
  ThreadState& thread_;
  EntryId head_;
};

// Stores into `handle` the entries that were promoted and are still followed, and those not yet
// promoted, even if a callback ends its thread.
class PromotedChain {
 public:
  explicit PromotedChain(BlockHandle* handle) : handle_(handle), rest_(*handle) {}
  ~PromotedChain() {
    while (rest_ != 0) kept_ = Chain(kept_, TakeFirst(&rest_));
    *handle_ = kept_;
  }
  PromotedChain(const PromotedChain&) = delete;
  PromotedChain& operator=(const PromotedChain&) = delete;

  void RunPromotes() {
    while (rest_ != 0) {
      const EntryId id = TakeFirst(&rest_);
      if (PromoteEntry(id)) kept_ = Chain(kept_, id);
    }
  }

 private:
  BlockHandle* const handle_;
  EntryId rest_;
  EntryId kept_ = 0;
};

// A tally gets fewer frames than were captured if another session wants more.
inline StackId StackForTally(const CapturedStack& stack, uint32_t callstack_size) {
  if (__builtin_expect(stack.view.depth <= callstack_size, 1)) return stack.id;
  return CallstackOf(stack.id, stack.view, callstack_size).id();
}

__attribute__((always_inline)) inline void TellTally(const ActiveSet::Item& item,
                                                     const Block& block, const CapturedStack& stack,
                                                     uintptr_t sp) {
  const PinnedSession session(item.id);
  if (!session || !session->sampling()) return;
  const StackId id = StackForTally(stack, session->config().callstack_size);
  session->client().Tally({block.size_bytes, block.source, id, sp});
}

// `active` must not change while callbacks run, even if they start or stop sessions.
BlockHandle Report(const Block& block, const FrameState& caller, Placement placement,
                   const ActiveSet& active) {
  ThreadState& thread = CurrentThread();
  ALLOMON_DCHECK("inv.busy", thread.busy);
  const EndOfTrial end_of_trial{thread};
  // Unchanged until the thread's next trial, which cannot be inside a callback.
  const Trial& trial = t_trial;
  // A copy, because a callback may capture a stack on this thread.
  const Origin origin = {CaptureStack(active.callstack_size, caller),
                         label_sets.View(CurrentLabelSet(thread))};
  CallbackScope scope(thread);
  DyingChain chain(thread, 0);
  for (uint32_t i = 0; i < active.count; ++i) {
    const ActiveSet::Item& item = active.items[i];
    if (trial.hits[i] == 0) continue;
    if (item.is_tally) {
      TellTally(item, block, origin.stack, caller.sp);
    } else {
      chain.StandInFront(
          ReportToSession(item, block, trial.hits[i], origin, placement, chain.head()));
    }
  }
  scope.Finish();
  return chain.Keep();
}

// Runs no user code, so it needs no callback scope: the thread just stays busy.
void ReportToTallies(const Block& block, const FrameState& caller, ThreadState& thread) {
  ALLOMON_DCHECK("inv.busy", thread.busy);
  const EndOfTrial end_of_trial{thread};
  const ActiveSet& active = thread.active;
  const CapturedStack& stack = CaptureStack(active.callstack_size, caller);
  for (uint32_t i = 0; i < active.count; ++i) {
    if (t_trial.hits[i] != 0) TellTally(active.items[i], block, stack, caller.sp);
  }
}

}  // namespace

void ReportCounted(const Block& block, const FrameState& caller) {
  ThreadState& thread = CurrentThread();
  if (thread.active.has_callbacks) {
    Report(block, caller, Placement::kPlaced, thread.active);
  } else {
    ReportToTallies(block, caller, thread);
  }
}

void ReportUnplaced(const Block& block, const FrameState& caller) {
  Report(block, caller, Placement::kUnplaced, CurrentThread().active);
}

BlockHandle ReportFollowed(const Block& block, const FrameState& caller) {
  return Report(block, caller, Placement::kPlaced, CurrentThread().active);
}

void DropSample(const Block& block) {
  ThreadState& thread = CurrentThread();
  const EndOfTrial end_of_trial{thread};
  // As many as the heap took from the countdown, also for a size with which that sum wraps.
  thread.meter.TakeBack(WordsWithHeaderFast(block.size_bytes));
  for (uint32_t i = 0; i < thread.active.count; ++i) {
    if (t_trial.hits[i] == 0) continue;
    PinnedSession session(thread.active.items[i].id);
    if (session) CountUnfollowed(*session, block);
  }
}

void OnPromote(BlockHandle* handle) {
  CallbackScope scope(CurrentThread());
  PromotedChain(handle).RunPromotes();
  scope.Finish();
}

void OnFree(BlockHandle handle) {
  if (handle == 0) return;
  ThreadState& thread = CurrentThread();
  // A busy thread frees in a signal handler that has interrupted the tracker: it may hold a lock
  // that a callback takes.
  if (thread.in_callback || thread.busy) {
    const DyingChain postponed(thread, handle);
    return;
  }
  CallbackScope scope(thread);
  DyingChain(thread, handle).RunDeallocs();
  scope.Finish();
}

void OnUnseenFree(BlockHandle handle) {
  // Also where a callback ends its thread.
  const struct Unseen {
    explicit Unseen(ThreadState& state) : thread(state) { thread.ends_unseen = true; }
    ~Unseen() { thread.ends_unseen = false; }
    ThreadState& thread;
  } unseen(CurrentThread());
  OnFree(handle);
}

bool InCallback() { return CurrentThread().in_callback; }

Verdict JudgeManagedSlow(ManagedSampler& sampler, uint64_t words) {
  const DefaultFloat our_float;
  ThreadState& thread = CurrentThread();
  if (sampler.stale()) sampler.Refresh();
  if (thread.in_callback || thread.busy) {
    sampler.Skip(words);
    return Verdict::kNotSampled;
  }
  if (__builtin_expect(!thread.registered, 0)) {
    const BusyMark busy;  // it may allocate
    RegisterThreadSlow(thread);
  }
  if (!sampler.Draw(words, &t_trial)) return Verdict::kNotSampled;
  thread.busy = true;
  return sampler.active().follows_blocks ? Verdict::kFollow : Verdict::kCount;
}

namespace {

// The sampler belongs to its heap, and may be gone when a callback has ended the thread.
BlockHandle ReportOf(const ManagedSampler& sampler, const Block& block, const FrameState& caller,
                     const ActiveSet& active) {
  const struct Scope {
    explicit Scope(const ManagedSampler* sampler) { CurrentThread().sampler = sampler; }
    ~Scope() { CurrentThread().sampler = nullptr; }
  } named(&sampler);
  return Report(block, caller, Placement::kPlaced, active);
}

}  // namespace

BlockHandle ReportManaged(const ManagedSampler& sampler, const Block& block,
                          const FrameState& caller, std::exception_ptr* thrown) {
  const ExceptionCarrier carrier;
  // A copy, because a managed allocation in a callback may bring the sampler into a new epoch.
  const ActiveSet active = sampler.active();
  const BlockHandle handle = ReportOf(sampler, block, caller, active);
  *thrown = carrier.thrown();
  if (*thrown == nullptr) return handle;
  OnFree(handle);
  return 0;
}

void OnManagedPromote(BlockHandle* handle, std::exception_ptr* thrown) {
  const ExceptionCarrier carrier;
  OnPromote(handle);
  *thrown = carrier.thrown();
}

void OnManagedFree(BlockHandle handle, std::exception_ptr* thrown) {
  const ExceptionCarrier carrier;
  OnFree(handle);
  *thrown = carrier.thrown();
}

}  // namespace allomon::heap_client
