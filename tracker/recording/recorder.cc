#include "tracker/recording/recorder.h"

#include <time.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "tracker/base/thread_id.h"
#include "tracker/core/fork.h"
#include "tracker/core/managed_sampler.h"
#include "tracker/core/object_bytes.h"
#include "tracker/core/thread_state.h"
#include "tracker/estimate.h"
#include "tracker/recording/file_owner.h"
#include "tracker/sampling/countdown.h"

namespace allomon::recording {

internal::SpinLock recorder_lock;

namespace {

using internal::ValueRoom;

Recorder* g_recorders[kMostRecorders] ALLOMON_GUARDED_BY(recorder_lock) = {};
uint64_t g_last_serial ALLOMON_GUARDED_BY(recorder_lock) = 0;

// What a thread is in the recording at the same place.
struct ThreadSlot {
  uint64_t serial;  // of the recording that has given the number
  uint32_t number;
  uint64_t exact_words;    // that the recording knows of
  uint64_t managed_words;  // of them, those of its managed heap
};
__thread ThreadSlot thread_slots[kMostRecorders] __attribute__((ALLOMON_TLS_MODEL));

// In a block's entry.  The serial tells a block of this process from one that its parent allocated.
struct BlockName {
  uint64_t serial;
  uint32_t number;
};
static_assert(sizeof(BlockName) <= sizeof(ValueRoom));

void Put(const BlockName& name, ValueRoom* room) { memcpy(room->bytes, &name, sizeof(name)); }
BlockName Get(const ValueRoom& room) {
  BlockName name;
  memcpy(&name, room.bytes, sizeof(name));
  return name;
}

// By the vdso: no system call.
uint64_t NanosOf(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t Rounded(double number) {
  return static_cast<uint64_t>(static_cast<int64_t>(number + 0.5));
}

Sum SumOf(const internal::SampleWeight& weight, uint64_t size_bytes, AllocationSource source) {
  const int64_t bytes = static_cast<int64_t>(internal::ObjectBytes(size_bytes, source));
  return {1, Rounded(weight.amount * kBlockScale),
          Rounded(weight.amount * static_cast<double>(bytes))};
}

}  // namespace

Recorder::Recorder(const char* pattern, uint64_t limit_bytes, const ProcessFacts& facts)
    : limit_bytes_(limit_bytes), facts_(facts), weights_(facts.rate) {
  strncpy(pattern_.text, pattern, sizeof(pattern_.text) - 1);
  pattern_.text[sizeof(pattern_.text) - 1] = '\0';
}

Recorder::~Recorder() {
  const RecorderHold hold;
  if (place_ < kMostRecorders) g_recorders[place_] = nullptr;
  store_.Clear();
  file_.Close();
}

const char* const kTwoRecordings = "two recordings go on already; stop one";

const char* Recorder::Open() {
  FilePath path;
  bool fits = ExpandPath(pattern_.text, facts_.pid, false, &path);
  // A program that another one has started, with the same environment.
  if (fits && IsOfAnother(path, facts_.pid)) {
    fits = ExpandPath(pattern_.text, facts_.pid, true, &path);
  }
  if (!fits) return "its path is too long";
  const RecorderHold hold;
  while (place_ == kMostRecorders || g_recorders[place_] != nullptr) {
    place_ = place_ == kMostRecorders ? 0 : place_ + 1;
    if (place_ == kMostRecorders) return kTwoRecordings;
  }
  const char* const error = file_.Open(path, limit_bytes_);
  if (error == nullptr && !BeginStore()) {
    const bool is_named = file_.is_named();
    file_.Close();
    return is_named ? "its limit is reached; set a larger ALLOMON_RECORD_LIMIT" : kMemoryFileFull;
  }
  if (error == nullptr) g_recorders[place_] = this;
  return error;
}

void Recorder::SetSession(internal::SessionId session) {
  const RecorderHold hold;
  session_ = session;
}

bool Recorder::BeginStore() {
  if (!store_.Begin(&file_, facts_)) return false;
  serial_ = ++g_last_serial;
  fork_mark_.Set();
  return true;
}

void Recorder::End() {
  const RecorderHold hold;
  has_ended_ = true;
  if (!fork_mark_.IsInChild() && store_.is_begun() && file_.IsWhole()) store_.SetEnded();
}

RecorderTotals Recorder::Totals() {
  const RecorderHold hold;
  RecorderTotals totals = unwritten_;
  totals.is_lost = is_lost_;
  if (fork_mark_.IsInChild() || !store_.is_begun() || !file_.IsWhole()) return totals;
  totals.samples += store_.process().allocated.samples;
  totals.dropped_samples += store_.process().dropped_samples;
  totals.dropped_bytes += store_.process().dropped_bytes;
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
  const RecorderHold hold;
  IsReady();
  DropLocked(size_bytes);
}

bool Recorder::AddBlock(const Allocation& allocation, bool young, ValueRoom* room) {
  const uint64_t trial_words = TrialWords(allocation);
  const internal::SampleWeight weight = weights_.Of(trial_words);
  const double words = static_cast<double>(static_cast<int64_t>(trial_words));
  Birth birth;
  birth.stack = allocation.callstack;
  birth.labels = allocation.labels;
  birth.size_bytes = allocation.size_bytes;
  birth.source = static_cast<uint8_t>(allocation.source);
  birth.young = young;
  birth.sample.block = SumOf(weight, allocation.size_bytes, allocation.source);
  birth.sample.estimated_words = Rounded(weight.amount * words);
  birth.sample.estimated_words_variance = Rounded(words * words * weight.variance);
  bool look = false;
  const bool added = AddBirth(&birth, room, &look);
  if (__builtin_expect(look, 0)) watcher_->Look(*this);
  return added;
}

bool Recorder::AddBirth(Birth* birth, ValueRoom* room, bool* look) {
  const RecorderHold hold;
  if (!IsReady()) {
    DropLocked(birth->size_bytes);
    return false;
  }
  birth->thread = ThreadLocked();
  birth->sample.exact_words = birth->thread == 0 ? 0 : NewExactWords();
  birth->thread_bytes = thread_slots[place_].exact_words * internal::kBytesPerWord;
  birth->sample.nanos = Nanos();
  const uint32_t block = store_.AddBlock(*birth);
  if (block != 0) Put({serial_, block}, room);
  *look = watcher_ != nullptr && IsLookDue(birth->sample.nanos);
  return block != 0;
}

// The difference is very large where a clock went backwards.
bool Recorder::IsLookDue(uint64_t nanos) {
  const uint64_t bytes = store_.process().allocated.bytes;
  if (nanos - look_nanos_ < kLookNanos && bytes - look_bytes_ < look_gap_bytes_) return false;
  look_nanos_ = nanos;
  look_bytes_ = bytes;
  return true;
}

bool Recorder::Stand(Standing* standing) {
  const RecorderHold hold;
  if (!store_.is_begun() || !Follows(serial_)) return false;
  const ProcessRecord& process = store_.process();
  standing->serial = serial_;
  standing->nanos = Nanos();
  standing->allocated_bytes = process.allocated.bytes;
  standing->live_bytes = process.live.bytes;
  standing->peak_bytes = process.peak.bytes;
  standing->pid = process.pid;
  standing->process = store_.segment();
  standing->segments = file_.segments_used();
  standing->is_named = file_.is_named();
  return true;
}

bool Recorder::CopyPath(uint64_t serial, FilePath* path) {
  const RecorderHold hold;
  if (!Follows(serial)) return false;
  memcpy(path, &file_.path(), sizeof(*path));
  return true;
}

bool Recorder::CopyBytes(uint64_t serial, uint32_t segment, uint32_t offset, char* bytes,
                         uint32_t size) {
  const RecorderHold hold;
  if (!store_.is_begun() || !Follows(serial)) return false;
  memcpy(bytes, file_.At(segment) + offset, size);
  return true;
}

void Recorder::SetNextLook(uint64_t allocated_bytes) {
  const RecorderHold hold;
  look_gap_bytes_ = allocated_bytes;
}

void Recorder::EndBlock(EventKind kind, ValueRoom* room) {
  const BlockName name = Get(*room);
  const RecorderHold hold;
  if (!Follows(name.serial)) return;
  const LiveBlock block = store_.BlockAt(name.number);
  const AllocationSource source = static_cast<AllocationSource>(store_.RowOf(block).source);
  const internal::SampleWeight weight = weights_.Of(TrialWords(block.size_bytes, source));
  const Sum sum = SumOf(weight, block.size_bytes, source);
  const ThreadSlot& slot = thread_slots[place_];
  Death death;
  death.kind = kind;
  death.thread = slot.serial == serial_ ? slot.number : 0;
  death.thread_bytes = WordsOf(block) * internal::kBytesPerWord;
  death.nanos = Nanos();
  if (kind == EventKind::kPromoted) {
    store_.PromoteBlock(name.number, sum, death);
  } else {
    store_.RemoveBlock(name.number, sum, death);
  }
}

uint64_t Recorder::Nanos() const {
  return NanosOf(CLOCK_MONOTONIC) - facts_.start_monotonic_nanos;
}

// Whether blocks may be added.
bool Recorder::IsReady() {
  if (__builtin_expect(fork_mark_.IsInChild(), 0)) BeginAsChild();
  if (!store_.is_begun() || has_ended_) return false;
  if (__builtin_expect(!file_.IsWhole(), 0)) is_lost_ = true;
  return !is_lost_;
}

// Whether the block of an entry with this serial is in the file.
bool Recorder::Follows(uint64_t serial) {
  if (fork_mark_.IsInChild() || serial != serial_ || has_ended_) return false;
  if (__builtin_expect(!file_.IsWhole(), 0)) is_lost_ = true;
  return !is_lost_;
}

// The parent's blocks are known by its serial from now on.
void Recorder::BeginAsChild() {
  store_.Clear();
  thread_words_.Clear();
  serial_ = 0;
  fork_mark_.Set();
  unwritten_ = {};
  is_lost_ = false;
  look_nanos_ = 0 - kLookNanos;
  look_bytes_ = 0;
  facts_.parent_pid = facts_.pid;
  facts_.pid = internal::OwnProcessIdAfterFork();
  facts_.is_forked = true;
  facts_.start_realtime_nanos = NanosOf(CLOCK_REALTIME);
  facts_.start_monotonic_nanos = NanosOf(CLOCK_MONOTONIC);
  if (facts_.follows_children && OpenForChild()) BeginStore();
}

// A memory file is shared with the parent.
bool Recorder::OpenForChild() {
  if (!file_.is_named()) return file_.is_open();
  FilePath path;
  file_.Close();
  return ExpandPath(pattern_.text, facts_.pid, true, &path) &&
         file_.Open(path, limit_bytes_) == nullptr;
}

void Recorder::DropLocked(uint64_t bytes) {
  if (store_.is_begun() && !is_lost_ && !has_ended_) return store_.CountDrop(bytes);
  ++unwritten_.dropped_samples;
  unwritten_.dropped_bytes += bytes;
}

// The calling thread's number; 0 if there is no room.
uint32_t Recorder::ThreadLocked() {
  ThreadSlot& slot = thread_slots[place_];
  if (__builtin_expect(slot.serial != serial_ || slot.number == 0, 0)) {
    slot = {serial_, store_.EnterThread(internal::OwnThreadId()), 0, 0};
    if (slot.number != 0) thread_words_.Enter(slot.number);
  }
  return slot.number;
}

// What the calling thread has allocated since the recording last asked.
uint64_t Recorder::NewExactWords() {
  ThreadSlot& slot = thread_slots[place_];
  const internal::ThreadState& thread = internal::CurrentThread();
  if (thread.sampler != nullptr) slot.managed_words = thread.sampler->PassedWords(session_);
  const uint64_t known = slot.exact_words;
  slot.exact_words =
      PassedWords(thread, internal::countdown_words, session_) + slot.managed_words;
  return slot.exact_words - known;
}

// What the block's thread has allocated until now.  Of a thread that has ended, until its end.
uint64_t Recorder::WordsOf(const LiveBlock& block) {
  const uint64_t known = store_.ThreadAt(block.thread).exact_words;
  uint64_t words = 0;
  if (!thread_words_.Find(block.thread, session_, &words)) return known;
  return words > known ? words : known;
}

void Recorder::EndThread() {
  const RecorderHold hold;
  for (Recorder* const recorder : g_recorders) {
    if (recorder == nullptr) continue;
    if (!recorder->Follows(recorder->serial_)) continue;
    const uint32_t number = recorder->ThreadLocked();
    if (number == 0) continue;
    recorder->store_.EndThread(number, recorder->NewExactWords());
    recorder->thread_words_.Leave(number);
  }
}

void Recorder::Unload(uintptr_t begin, uintptr_t end, uintptr_t by) {
  const RecorderHold hold;
  for (Recorder* const recorder : g_recorders) {
    if (recorder != nullptr && recorder->Follows(recorder->serial_)) {
      recorder->store_.Unload(begin, end, by);
    }
  }
}

}  // namespace allomon::recording
