#include "tracker/recording/process_store.h"

#include "tracker/base/words.h"
#include "tracker/core/object_bytes.h"

namespace allomon::recording {

bool ProcessStore::Begin(SegmentFile* file, const ProcessFacts& facts) {
  file_ = file;
  source_.Begin(file, 0);
  char* const place = source_.Take(SegmentKind::kProcess, 0, &segment_);
  if (place == nullptr) return false;
  process_ = Written<ProcessRecord>(place);
  ALLOMON_DCHECK("inv.recording.segment", is_begun());
  source_.Begin(file, segment_);
  using Counts = decltype(ProcessRecord::records);
  const auto count = [&](uint32_t Counts::*kind) {
    return process_.In(&ProcessRecord::records, kind);
  };
  missing_.Begin(process_);
  memory_.Begin(file->is_named());
  peak_.Begin(weights_->units_per_byte());
  allocated_whole_.store(0, std::memory_order_relaxed);
  allocated_fraction_.store(0, std::memory_order_relaxed);
  texts_.Begin(&source_, count(&Counts::text_bytes));
  modules_.Begin(&source_, count(&Counts::modules), &texts_);
  tree_.Begin(&source_, count(&Counts::nodes), &modules_, &texts_);
  label_texts_.Begin(&texts_);
  rows_.Begin(&source_, count(&Counts::rows), count(&Counts::saved));
  lifetimes_.Begin(&source_, count(&Counts::events));
  live_.Begin(&source_, count(&Counts::live));
  scopes_.Begin(&source_, count(&Counts::scopes));
  threads_.Begin(&source_, count(&Counts::threads), facts.name);
  timeline_.Begin(&source_, count(&Counts::timeline),
                  process_[&ProcessRecord::timeline_interval_nanos]);
  Write(facts);
  return true;
}

void ProcessStore::Write(const ProcessFacts& facts) {
  process_[&ProcessRecord::pid].Store(facts.pid);
  process_[&ProcessRecord::parent_pid].Store(facts.parent_pid);
  process_[&ProcessRecord::is_forked].Store(facts.is_forked ? 1 : 0);
  process_[&ProcessRecord::start_realtime_nanos].Store(facts.start_realtime_nanos);
  process_[&ProcessRecord::start_monotonic_nanos].Store(facts.start_monotonic_nanos);
  process_[&ProcessRecord::seed].Store(facts.seed);
  process_[&ProcessRecord::rate].Store(facts.rate);
  process_[&ProcessRecord::callstack_size].Store(facts.callstack_size);
  const TextRef program = texts_.Add(facts.program, facts.program_bytes);
  Store(program, process_, &ProcessRecord::program);
  const TextRef command = texts_.Add(facts.command, facts.command_bytes);
  Store(command, process_, &ProcessRecord::command);
  const TextRef allocator = texts_.Add(facts.allocator, facts.allocator_bytes);
  Store(allocator, process_, &ProcessRecord::allocator);
  process_[&ProcessRecord::begun].Publish(1);
}

void ProcessStore::Clear() {
  texts_.Clear();
  modules_.Clear();
  tree_.Clear();
  label_texts_.Clear();
  rows_.Clear();
  lifetimes_.Clear();
  live_.Clear();
  scopes_.Clear();
  threads_.Clear();
  timeline_.Clear();
  segment_ = 0;
}

uint64_t ProcessStore::BytesOf(int64_t units) const {
  return units <= 0
             ? 0
             : static_cast<uint64_t>(static_cast<double>(units) / weights_->units_per_byte());
}

double ProcessStore::PeakVariance() const {
  return static_cast<double>(peak_.PeakNoise()) / weights_->units_per_byte() *
         weights_->noise_bytes();
}

// The frames of a fresh row are added first. The lock is taken for each of them separately.
uint32_t ProcessStore::AddRowSlow(const Birth& birth) {
  uint32_t node = tree_.NodeOf(birth.allocation.callstack, file_, &missing_);
  if (node != CallTree::kNoRoom && birth.key.type != 0) {
    node = tree_.TypeNodeOf(node, birth.key.type, file_, &missing_);
  }
  if (node == CallTree::kNoRoom) return 0;
  return WithRoom(file_,
                  [&]() ALLOMON_REQUIRES(recorder_lock) { return AddRowLocked(birth, node); });
}

uint32_t ProcessStore::AddRowLocked(const Birth& birth, uint32_t node) {
  const uint32_t known = rows_.Find(birth.key);
  if (known != 0) return known;
  TextRef labels = {};
  return label_texts_.Find(birth.allocation.labels, &labels)
             ? rows_.Add(birth.key, node, labels, peak_)
             : 0;
}

uint32_t ProcessStore::MakeNumberSlow() {
  return WithRoom(file_, [&]() ALLOMON_REQUIRES(recorder_lock) { return live_.Grow(); });
}

bool ProcessStore::Drop(uint64_t bytes) {
  missing_.Count(Shortage::kSamples);
  missing_.Count(Shortage::kBytes, bytes);
  return false;
}

// Adds a block only if there is room for everything that its end will need.
bool ProcessStore::AddBlock(const Birth& birth, LiveBlocks::Cache* cache, BlockName* name) {
  NoteTime(birth.sample.nanos);
  const uint32_t row = RowFor(birth);
  const uint32_t number = row == 0 ? 0 : NumberFor(cache);
  if (__builtin_expect(number == 0, 0)) return Drop(birth.allocation.size_bytes);
  name->number = number;
  name->row = row;
  name->thread = birth.thread;
  live_.Set(number,
            {row, birth.thread, birth.allocation.size_bytes, birth.sample.nanos,
             birth.sample.exact_words * internal::kBytesPerWord},
            birth.scope);
  if (birth.scope != 0) scopes_.AddBlock(birth.scope);
  if (!rows_.AddBlock(row, birth.object_bytes, peak_)) missing_.Count(Shortage::kSaved);
  threads_.AddSample(birth.thread, birth.sample);
  const Wide& bytes = birth.sample.bytes;
  const uint64_t carry =
      bytes.fraction == 0 ? 0 : AddFraction(bytes.fraction, &allocated_fraction_);
  allocated_whole_.fetch_add(bytes.whole + carry, std::memory_order_relaxed);
  peak_.AddBirth(birth.key.flags, birth.units, birth.sample.nanos, process_);
  timeline_.NoteLive(peak_.Live());
  return true;
}

void ProcessStore::CloseIntervalSlow(uint64_t nanos) {
  memory_.Note(nanos, BytesOf(peak_.Live()), process_);
  timeline_.Close(nanos, allocated_bytes(), peak_.Live(), weights_->units_per_byte(),
                  memory_.last_bytes());
  process_[&ProcessRecord::last_nanos].Store(nanos);
}

uint32_t ProcessStore::AddEventSlow(const LifetimeTable::Key& key) {
  return WithRoom(file_, [&]() ALLOMON_REQUIRES(recorder_lock) {
    const uint32_t known = lifetimes_.Find(key);
    return known != 0 ? known : lifetimes_.Add(key);
  });
}

__attribute__((always_inline)) inline void ProcessStore::AddEnd(const BlockName& name,
                                                                const OwnBlock& block,
                                                                uint64_t object_bytes,
                                                                const Death& death) {
  ALLOMON_DCHECK("inv.recording.row",
                 death.kind != EventKind::kPromoted || (rows_.KeyOf(name.row).flags & kYoung) != 0);
  BlockEnd end;
  end.row = name.row;
  end.kind = death.kind;
  end.by_other_thread = death.thread != name.thread;
  end.has_age = death.has_age;
  // The count of another thread is accurate to one sampling gap only.
  end.bytes = death.thread_bytes < block.birth_bytes ? 0 : death.thread_bytes - block.birth_bytes;
  end.nanos = death.nanos < block.birth_nanos ? 0 : death.nanos - block.birth_nanos;
  const uint32_t event = EventFor(LifetimeTable::Key(end));
  if (event == 0) return missing_.Count(Shortage::kEnds);
  lifetimes_.AddBlock(event, object_bytes);
}

void ProcessStore::PromoteBlock(const BlockName& name, const Death& promotion) {
  NoteTime(promotion.nanos);
  const auto source = static_cast<AllocationSource>(rows_.KeyOf(name.row).source);
  const OwnBlock& block = live_.At(name.number);
  AddEnd(name, block, internal::ObjectBytes(block.size_bytes, source), promotion);
}

void ProcessStore::RemoveBlock(const BlockName& name, const Death& death) {
  NoteTime(death.nanos);
  const RowKey key = rows_.KeyOf(name.row);
  const auto source = static_cast<AllocationSource>(key.source);
  const OwnBlock& block = live_.At(name.number);
  const uint64_t object_bytes = internal::ObjectBytes(block.size_bytes, source);
  ClassWeight scratch;
  const ClassWeight& weight =
      weights_->Of(key.size_class, source, (key.flags & kGreatest) != 0, &scratch);
  ALLOMON_DCHECK_EQ("inv.recording.row", key.size_class, SizeClassOf(block.size_bytes));
  AddEnd(name, block, object_bytes, death);
  if (!rows_.RemoveBlock(name.row, object_bytes, peak_)) missing_.Count(Shortage::kSaved);
  threads_.RemoveBlock(name.thread, weight.wide, Times(weight.wide, object_bytes));
  peak_.AddDeath(key.flags, UnitsOf(weight, object_bytes));
  if (death.thread != 0) {
    threads_.NoteTime(death.thread, death.nanos);
  } else {
    process_[&ProcessRecord::last_nanos].Store(death.nanos);
  }
  const uint32_t scope = block.scope;
  live_.Release(name.number, death.cache);
  if (scope != 0) scopes_.RemoveBlock(scope);
}

uint32_t ProcessStore::EnterScope(const ScopeFacts& facts) {
  const uint32_t number = WithRoom(file_, [&]() ALLOMON_REQUIRES(recorder_lock) -> uint32_t {
    TextRef labels = {};
    if (!label_texts_.Find(facts.labels, &labels)) return 0;
    return scopes_.Add(facts.owner, facts.outer,
                       {facts.thread, facts.label, labels, facts.nanos, 0});
  });
  if (number == 0) missing_.Count(Shortage::kScopes);
  return number;
}

void ProcessStore::EndLabel(const LabelSet& label, uint64_t nanos) {
  const uint32_t added = WithRoom(file_, [&]() ALLOMON_REQUIRES(recorder_lock) -> uint32_t {
    TextRef text = {};
    return label_texts_.Find(label, &text) && scopes_.EndLabel(label.id(), text, nanos) ? 1 : 0;
  });
  if (added == 0) missing_.Count(Shortage::kScopes);
}

void ProcessStore::Unload(uintptr_t begin, uintptr_t end, uint64_t by) {
  ModuleTable::Gone gone;
  {
    const RecorderHold hold;
    gone = modules_.Unload(begin, end, by);
  }
  if (gone.end != 0) tree_.Rename(gone);
}

}  // namespace allomon::recording
