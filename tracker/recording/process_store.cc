#include "tracker/recording/process_store.h"

namespace allomon::recording {

bool ProcessStore::Begin(SegmentFile* file, const ProcessFacts& facts) {
  source_.Begin(file, 0);
  char* const segment = source_.Take(SegmentKind::kProcess, 0);
  if (segment == nullptr) return false;
  process_ = reinterpret_cast<ProcessRecord*>(segment);
  source_.Begin(file, reinterpret_cast<SegmentHeader*>(segment)[-1].process);
  auto& counts = process_->records;
  texts_.Begin(&source_, &counts.text_bytes);
  modules_.Begin(&source_, &counts.modules, &texts_);
  tree_.Begin(&source_, &counts.nodes, &modules_, &texts_);
  label_texts_.Begin(&texts_);
  rows_.Begin(&source_, &counts.rows);
  lifetimes_.Begin(&source_, &counts.events);
  live_.Begin(&source_, &counts.live);
  threads_.Begin(&source_, &counts.threads, facts.name);
  timeline_.Begin(&source_, &counts.timeline, &process_->timeline_interval_nanos);
  Write(facts);
  return true;
}

void ProcessStore::Write(const ProcessFacts& facts) {
  process_->pid = facts.pid;
  process_->parent_pid = facts.parent_pid;
  process_->is_forked = facts.is_forked ? 1 : 0;
  process_->start_realtime_nanos = facts.start_realtime_nanos;
  process_->start_monotonic_nanos = facts.start_monotonic_nanos;
  process_->seed = facts.seed;
  process_->rate = facts.rate;
  process_->callstack_size = facts.callstack_size;
  process_->program = texts_.Add(facts.program, facts.program_bytes);
  process_->command = texts_.Add(facts.command, facts.command_bytes);
  __atomic_store_n(&process_->begun, 1, __ATOMIC_RELEASE);
}

void ProcessStore::Clear() {
  texts_.Clear();
  modules_.Clear();
  tree_.Clear();
  label_texts_.Clear();
  rows_.Clear();
  lifetimes_.Clear();
  live_.Clear();
  threads_.Clear();
  timeline_.Clear();
  process_ = nullptr;
}

uint32_t ProcessStore::RowFor(const Birth& birth) {
  const uint32_t node = tree_.NodeOf(birth.stack);
  TextRef labels = {};
  if (node == CallTree::kNoRoom || !label_texts_.Find(birth.labels, &labels)) return 0;
  const uint16_t size_class = static_cast<uint16_t>(SizeClassOf(birth.size_bytes) + 1);
  return rows_.RowOf(
      {node, labels, size_class, birth.source, static_cast<uint8_t>(birth.young ? 1 : 0)});
}

// What cannot be followed to its end is not begun.
uint32_t ProcessStore::AddBlock(const Birth& birth) {
  const uint32_t row = birth.thread == 0 ? 0 : RowFor(birth);
  const LiveBlock block = {row, birth.thread, birth.size_bytes, birth.sample.nanos,
                           birth.thread_bytes};
  const uint32_t number = row == 0 ? 0 : live_.Add(block);
  if (number == 0) {
    CountDrop(birth.size_bytes);
    return 0;
  }
  const Sum& sum = birth.sample.block;
  ALLOMON_DCHECK("inv.recording.peak", HasReachedEpochOf(row) || IsTruncated());
  rows_.AddBlock(row, sum, process_->peak_epoch);
  threads_.AddSample(birth.thread, birth.sample);
  process_->estimated_words += birth.sample.estimated_words;
  Add(sum, &process_->allocated);
  Add(sum, &process_->live);
  NotePeak(birth.sample.nanos);
  NoteTime(birth.sample.nanos);
  return number;
}

// Rows that have not changed since keep what was live at the peak; see RowTable.
void ProcessStore::NotePeak(uint64_t nanos) {
  if (process_->live.bytes <= process_->peak.bytes) return;
  process_->peak = process_->live;
  process_->peak_nanos = nanos;
  __atomic_store_n(&process_->peak_epoch, process_->peak_epoch + 1, __ATOMIC_RELEASE);
}

void ProcessStore::NoteTime(uint64_t nanos) {
  process_->last_nanos = nanos;
  const uint64_t live = process_->live.bytes;
  timeline_.Note({nanos, process_->allocated.bytes, live, live});
}

void ProcessStore::AddEnd(const LiveBlock& block, const Sum& sum, const Death& death) {
  BlockEnd end;
  end.row = block.row;
  end.kind = death.kind;
  end.by_other_thread = death.thread != block.thread;
  // The words of another thread are known to a gap.
  end.bytes = death.thread_bytes < block.birth_bytes ? 0 : death.thread_bytes - block.birth_bytes;
  end.nanos = death.nanos - block.birth_nanos;
  lifetimes_.Add(end, sum);
}

void ProcessStore::PromoteBlock(uint32_t number, const Sum& sum, const Death& promotion) {
  AddEnd(live_.At(number), sum, promotion);
  NoteTime(promotion.nanos);
}

bool ProcessStore::Counts(const LiveBlock& block, const Sum& sum) const {
  return Covers(RowOf(block).live, sum) && Covers(ThreadAt(block.thread).live, sum) &&
         Covers(process_->live, sum);
}

void ProcessStore::RemoveBlock(uint32_t number, const Sum& sum, const Death& death) {
  const LiveBlock block = live_.At(number);
  ALLOMON_DCHECK("inv.recording.live", block.row != 0 || IsTruncated());
  ALLOMON_DCHECK("inv.recording.exact", Counts(block, sum) || IsTruncated());
  ALLOMON_DCHECK("inv.recording.peak", HasReachedEpochOf(block.row) || IsTruncated());
  AddEnd(block, sum, death);
  rows_.RemoveBlock(block.row, sum, process_->peak_epoch);
  threads_.RemoveBlock(block.thread, sum);
  Subtract(sum, &process_->live);
  live_.Remove(number);
  NoteTime(death.nanos);
}

void ProcessStore::CountDrop(uint64_t bytes) {
  ++process_->dropped_samples;
  process_->dropped_bytes += bytes;
}

void ProcessStore::Unload(uintptr_t begin, uintptr_t end, uint64_t by) {
  const ModuleTable::Range gone = modules_.Unload(begin, end, by);
  if (gone.end != 0) tree_.Rename(gone.begin, gone.end, by);
}

}  // namespace allomon::recording
