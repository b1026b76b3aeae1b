#include "tracker/recording/recorder.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "tracker/base/clock.h"
#include "tracker/base/default_float.h"
#include "tracker/base/thread_id.h"
#include "tracker/base/words.h"
#include "tracker/core/entry_table.h"
#include "tracker/core/fork.h"
#include "tracker/core/managed_sampler.h"
#include "tracker/core/object_bytes.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/thread_state.h"
#include "tracker/core/type_names.h"
#include "tracker/estimate.h"
#include "tracker/formats/process_map.h"
#include "tracker/sampling/countdown.h"

// The way from a sampled block to its record, for other processes (formats/process_map.h).  The
// array of segments is the table's first member.
extern "C" {
extern const allomon::process_map::Entries allomon_entries __attribute__((visibility("hidden")));
const allomon::process_map::Entries allomon_entries = {
    &allomon::internal::entry_table,
    allomon::internal::EntryArray::kCapacity / allomon::internal::kEntriesOfSegment,
    allomon::internal::kEntriesOfSegment,
    sizeof(allomon::internal::Entry),
    offsetof(allomon::internal::Entry, next),
    offsetof(allomon::internal::Entry, value),
};
}

namespace allomon::recording {

internal::SpinLock recorder_lock;
uint32_t recorder_held_steps = 0;

// A thread's state in the recording with the same index.
struct ThreadSlot {
  uint32_t serial = 0;  // serial of the recording that `number` belongs to
  uint32_t number = 0;
  uint64_t managed_words = 0;  // allocated in its managed heaps during this recording
  uint64_t random = 0;
  LiveBlocks::Cache blocks = {};
  bool has_ended = false;  // true: its cache stays empty, since it would not be drained again
};

namespace {

using internal::ValueRoom;

__thread ThreadSlot thread_slots[kMostRecorders] __attribute__((ALLOMON_TLS_MODEL));

static_assert(sizeof(BlockName) <= sizeof(ValueRoom));
static_assert(offsetof(BlockName, number) == 4 && offsetof(BlockName, row) == 8 &&
                  offsetof(BlockName, thread) == 12,
              "process_map::Entries");
static_assert(kMostRecorders == internal::kMostNotedPlaces);

void Put(const BlockName& name, ValueRoom* room) { memcpy(room->bytes, &name, sizeof(name)); }
BlockName Get(const ValueRoom& room) {
  BlockName name;
  memcpy(&name, room.bytes, sizeof(name));
  return name;
}

// Splitmix64 (Steele, Lea and Flood 2014).  It draws only weights and halves, for which better
// random numbers would make no visible difference.
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

uint8_t CustomFlagOf(const Allocation& allocation) {
  if (allocation.source != AllocationSource::kCustom) return 0;
  return allocation.is_mapped ? kMapped : kReported;
}

// Draws the halves from the lower half of `random` and its highest bit.
uint8_t HalvesOf(uint32_t both_share, uint64_t random) {
  if (both_share == UINT32_MAX || static_cast<uint32_t>(random) < both_share) {
    return kOfHalf[0] | kOfHalf[1];
  }
  return kOfHalf[random >> 63];
}

}  // namespace

Recorder* Recorder::recorders_[kMostRecorders] = {};
uint32_t Recorder::last_serial_ = 0;

Recorder::Recorder(const char* pattern, uint64_t limit_bytes, const ProcessFacts& facts)
    : limit_bytes_(limit_bytes),
      facts_(facts),
      weights_(facts.rate),
      class_weights_(facts.rate),
      store_(&class_weights_) {
  strncpy(pattern_.text, pattern, sizeof(pattern_.text) - 1);
  pattern_.text[sizeof(pattern_.text) - 1] = '\0';
}

Recorder::~Recorder() {
  const RecorderHold hold;
  if (place_ < kMostRecorders) recorders_[place_] = nullptr;
  store_.Clear();
  file_.Close();
}

void Recorder::SetSession(internal::SessionId session) {
  const RecorderHold hold;
  session_ = session;
}

void Recorder::End() {
  const RecorderHold hold;
  const bool is_ready = !fork_mark_.IsInChild() && IsReadyLocked();
  has_ended_ = true;
  is_writing_.store(false, std::memory_order_release);
  if (is_ready) store_.SetEnded();
}

RecorderTotals Recorder::Totals() {
  const RecorderHold hold;
  RecorderTotals totals = unwritten_;
  totals.is_lost = is_lost_;
  if (fork_mark_.IsInChild() || !store_.is_begun()) return totals;
  if (!has_ended_) totals.is_lost = !IsReadyLocked();
  totals.samples += store_.samples();
  totals.dropped_samples += store_.missing().Of(Shortage::kSamples);
  totals.dropped_bytes += store_.missing().Of(Shortage::kBytes);
  return totals;
}

bool Recorder::AllocMinor(const Allocation& allocation, ValueRoom* room) {
  return AddBlock(allocation, true, room);
}
bool Recorder::AllocMajor(const Allocation& allocation, ValueRoom* room) {
  return AddBlock(allocation, false, room);
}
bool Recorder::Promote(ValueRoom* room) {
  EndBlock(EventKind::kPromoted, room);
  return true;
}
void Recorder::DeallocMinor(ValueRoom* room) { EndBlock(EventKind::kDiedYoung, room); }
void Recorder::DeallocMajor(ValueRoom* room) { EndBlock(EventKind::kFreed, room); }

void Recorder::Dropped(uint64_t size_bytes) {
  const internal::DefaultFloat our_float;
  uint64_t nanos = 0;
  IsReady(&nanos);  // begins the recording of a child of fork
  DropUnwritten(size_bytes);
}

bool Recorder::AddBlock(const Allocation& allocation, bool young, ValueRoom* room) {
  const internal::DefaultFloat our_float;
  bool look = false;
  const bool added = AddBirth(allocation, young, room, &look);
  if (__builtin_expect(look, 0)) watcher_->Look(*this);
  return added;
}

// The thread is marked busy.  So the allocations of a signal handler stay out of the recorder
// meanwhile, and the recorder has the thread's slot for itself.
__attribute__((always_inline)) inline bool Recorder::AddBirth(const Allocation& allocation,
                                                              bool young, ValueRoom* room,
                                                              bool* look) {
  const internal::BusyMark busy;
  Birth birth(allocation);
  if (!IsReady(&birth.sample.nanos)) {
    DropUnwritten(allocation.size_bytes);
    return false;
  }
  ALLOMON_DCHECK("inv.recording.serial", place_ < kMostRecorders && serial_ != 0);
  ThreadSlot& slot = thread_slots[place_];
  birth.thread = ThreadNumber(&slot);
  if (__builtin_expect(birth.thread == 0, 0)) {
    DropUnwritten(allocation.size_bytes);
    return false;
  }
  DescribeBirth(young, &slot, &birth);
  internal::LabelScope* const labels = internal::CurrentThread().label_scope;
  birth.scope = __builtin_expect(labels == nullptr, 1) ? 0 : ScopeOf(labels, birth);
  BlockName name;
  if (!store_.AddBlock(birth, &slot.blocks, &name)) return false;
  name.serial = serial_;
  Put(name, room);
  *look = watcher_ != nullptr && IsLookDue(birth.sample.nanos);
  return true;
}

__attribute__((always_inline)) inline void Recorder::DescribeBirth(bool young, ThreadSlot* slot,
                                                                   Birth* birth) {
  const Allocation& allocation = birth->allocation;
  const uint64_t trial_words = TrialWords(allocation);
  const internal::SampleWeight own = weights_.Of(trial_words);
  const double words = static_cast<double>(static_cast<int64_t>(trial_words));
  const uint64_t random = NextRandom(&slot->random);
  birth->object_bytes = internal::ObjectBytes(allocation.size_bytes, allocation.source);
  RowKey& key = birth->key;
  key.stack = allocation.callstack.id();
  key.labels = allocation.labels.id();
  key.size_class = SizeClassOf(allocation.size_bytes);
  key.source = static_cast<uint8_t>(allocation.source);
  key.type = internal::type_names.IdOf(allocation.type_name);
  bool greatest = false;
  ClassWeight scratch;
  const ClassWeight& weight =
      class_weights_.Choose(key.size_class, allocation.source, own.amount,
                            static_cast<uint32_t>(random >> 32) & 0x7fffffff, &greatest, &scratch);
  key.flags = static_cast<uint8_t>((young ? kYoung : 0) | (greatest ? kGreatest : 0) |
                                   CustomFlagOf(allocation) | HalvesOf(weight.both_share, random));
  birth->units = UnitsOf(weight, birth->object_bytes);
  birth->sample.blocks = weight.wide;
  birth->sample.bytes = Times(weight.wide, birth->object_bytes);
  birth->sample.exact_words = ExactWords(slot);
  birth->sample.estimated_words = own.amount * words;
  birth->sample.excess_words = birth->sample.estimated_words - words;
  birth->sample.estimated_words_variance = words * words * own.variance;
}

// Ends a block.  A thread that shares its record has no byte count of its own, so its blocks have
// no age.  In a child that has no recording yet, the block belongs to the parent.
void Recorder::EndBlock(EventKind kind, ValueRoom* room) {
  const internal::DefaultFloat our_float;
  if (__builtin_expect(fork_mark_.IsInChild(), 0)) return;
  const BlockName name = Get(*room);
  const internal::BusyMark busy;
  Death death;
  if (!IsReady(&death.nanos) || name.serial != serial_) return;
  ALLOMON_DCHECK("inv.recording.row", name.number != 0 && name.row != 0 && name.thread != 0);
  ThreadSlot& slot = thread_slots[place_];
  const bool has_slot = IsOfThisRecording(slot);
  death.kind = kind;
  death.thread = has_slot ? slot.number : 0;
  death.cache = has_slot && !slot.has_ended ? &slot.blocks : nullptr;
  death.has_age = !ThreadTable::IsShared(name.thread);
  death.thread_bytes =
      death.has_age
          ? store_.threads().WordsOf(name.thread, death.thread, session_) * internal::kBytesPerWord
          : 0;
  if (internal::CurrentThread().ends_unseen) store_.missing().Count(Shortage::kUnseen);
  if (kind == EventKind::kPromoted) {
    store_.PromoteBlock(name, death);
  } else {
    store_.RemoveBlock(name, death);
  }
}

uint64_t Recorder::Nanos() const {
  return internal::ClockNanos(CLOCK_MONOTONIC) - facts_.start_monotonic_nanos;
}

bool Recorder::IsReadySlow(uint64_t* nanos) {
  const RecorderHold hold;
  if (fork_mark_.IsInChild()) BeginAsChild();
  *nanos = Nanos();
  check_nanos_.store(*nanos, std::memory_order_relaxed);
  return IsReadyLocked();
}

bool Recorder::IsReadyLocked() {
  if (!store_.is_begun() || has_ended_ || is_lost_) return false;
  if (file_.Check()) return true;
  is_lost_ = true;
  store_.SetLost();
  file_.Forget();
  is_writing_.store(false, std::memory_order_release);
  return false;
}

// Whether a recording with this serial is being written.
bool Recorder::FollowsLocked(uint64_t serial) {
  return !fork_mark_.IsInChild() && serial == serial_ && IsReadyLocked();
}

void Recorder::DropUnwritten(uint64_t bytes) {
  const RecorderHold hold;
  DropLocked(bytes);
}

void Recorder::DropLocked(uint64_t bytes) {
  if (is_writing_.load(std::memory_order_relaxed)) {
    store_.missing().Count(Shortage::kSamples);
    return store_.missing().Count(Shortage::kBytes, bytes);
  }
  ++unwritten_.dropped_samples;
  unwritten_.dropped_bytes += bytes;
}

bool Recorder::IsOfThisRecording(const ThreadSlot& slot) const {
  return slot.serial == serial_ && slot.number != 0;
}
uint32_t Recorder::NumberOf(const ThreadSlot& slot) { return slot.number; }

// Returns the calling thread's number; 0 if there is no room.
uint32_t Recorder::EnterThreadSlow(ThreadSlot* slot) {
  *slot = {};
  slot->has_ended = !internal::CurrentThread().in_registry();
  const uint32_t tid = internal::OwnThreadId();
  slot->number = WithRoom(
      &file_, [&]() ALLOMON_REQUIRES(recorder_lock) { return store_.EnterThreadLocked(tid); });
  slot->serial = serial_;
  slot->random = facts_.seed + internal::ForkStream() + slot->number * 0xd1342543de82ef95;
  return slot->number;
}

// Returns the words that the calling thread has allocated since the recording began.
uint64_t Recorder::ExactWords(ThreadSlot* slot) {
  const internal::ThreadState& thread = internal::CurrentThread();
  if (thread.sampler != nullptr) slot->managed_words += thread.sampler->TakePassedWords(session_);
  return PassedWords(thread, internal::countdown_words, session_) + slot->managed_words;
}

void Recorder::EndThread() {
  const internal::DefaultFloat our_float;
  const internal::BusyMark busy;
  for (uint32_t place = 0; place < kMostRecorders; ++place) {
    EndThreadAt(place);
  }
}

void Recorder::EndThreadAt(uint32_t place) {
  ThreadSlot& slot = thread_slots[place];
  const RecorderHold hold;
  Recorder* const recorder = recorders_[place];
  if (recorder == nullptr) return;
  if (!recorder->FollowsLocked(recorder->serial_)) return recorder->ForgetThreadLocked(slot);
  if (!recorder->IsOfThisRecording(slot)) {
    slot = {};
    slot.has_ended = true;
    slot.number = recorder->store_.EnterThreadLocked(internal::OwnThreadId());
    slot.serial = recorder->serial_;
    if (slot.number == 0) return;
  }
  recorder->store_.EndThreadLocked(slot.number, recorder->ExactWords(&slot), &slot.blocks);
  slot.has_ended = true;
}

void Recorder::EndScope(const internal::EndingScope& scope) {
  const internal::DefaultFloat our_float;
  const RecorderHold hold;
  for (uint32_t place = 0; place < kMostRecorders; ++place) {
    Recorder* const recorder = recorders_[place];
    if (recorder == nullptr || scope.places[place].serial != recorder->serial_) continue;
    const uint64_t nanos = recorder->Nanos();
    if (!recorder->IsWriting() || (recorder->IsCheckDue(nanos) && !recorder->IsReadyLocked())) {
      continue;
    }
    recorder->store_.EndScopeLocked(scope.places[place].number, &scope, nanos);
  }
}

// The recording has ended, but a thread that began to free a block before that may still read this
// thread's words.
void Recorder::ForgetThreadLocked(const ThreadSlot& slot) {
  if (fork_mark_.IsInChild() || !store_.is_begun() || !IsOfThisRecording(slot)) return;
  store_.threads().Forget(slot.number);
}

// Calls run(recorder) for each recording that is being written, without the lock.
template <typename Run>
void Recorder::ForEach(Run run) {
  for (uint32_t place = 0; place < kMostRecorders; ++place) {
    internal::SessionId session = 0;
    {
      const RecorderHold hold;
      Recorder* const recorder = recorders_[place];
      if (recorder == nullptr || !recorder->FollowsLocked(recorder->serial_)) continue;
      session = recorder->session_;
    }
    // Another thread may stop the recording meanwhile.
    const internal::PinnedClient<Recorder, internal::SessionKind::kRecording> recorder(session);
    if (recorder) run(recorder.operator->());
  }
}

void Recorder::EndLabel(const LabelSet& label) {
  const internal::DefaultFloat our_float;
  ForEach([&](Recorder* recorder) { recorder->store_.EndLabel(label, recorder->Nanos()); });
}

void Recorder::Unload(uintptr_t begin, uintptr_t end, uintptr_t by) {
  const internal::DefaultFloat our_float;
  ForEach([&](Recorder* recorder) { recorder->store_.Unload(begin, end, by); });
}

}  // namespace allomon::recording
