#include <algorithm>
#include <cmath>

#include "tracker/base/check.h"
#include "tracker/formats/recording_records.h"

namespace allomon::recording {
namespace {

// 72 PB, which a process that allocates 10 GB per second reaches after 80 days.  A larger value is
// damage, or was read between a subtraction and the addition that belongs to it.
constexpr uint64_t kMostBytes = uint64_t{1} << 56;
constexpr uint64_t kMostSamples = uint64_t{1} << 40;
constexpr uint64_t kMostNanos = uint64_t{1} << 62;
constexpr double kMostVariance = 1e60;  // its sums and powers are numbers
constexpr uint8_t kMostLog2 = 63;

bool Limit(uint64_t* value, uint64_t most) {
  if (*value <= most) return false;
  *value = 0;
  return true;
}

// Also turns NaN into 0.
bool Limit(double* value, double most) {
  if (*value >= 0 && *value <= most) return false;
  *value = 0;
  return true;
}

bool Limit(Sum* sum) {
  const bool samples = Limit(&sum->samples, kMostSamples);
  const bool blocks = Limit(&sum->blocks, static_cast<double>(kMostBytes));
  const bool bytes = Limit(&sum->bytes, static_cast<double>(kMostBytes));
  return samples || blocks || bytes;
}

bool Limit(uint8_t* log2) {
  if (*log2 <= kMostLog2) return false;
  *log2 = kMostLog2;
  return true;
}

bool Repair(Node* node, uint32_t number) {
  const bool is_known = node->kind <= static_cast<uint8_t>(NodeKind::kType);
  const bool is_below = node->parent < number;
  if (!is_known) *node = {};
  if (!is_below) {
    node->parent = 0;
    node->cut = 1;
  }
  ALLOMON_DCHECK_LT("inv.formats.repaired", node->parent, number);
  return !is_known || !is_below;
}

bool Repair(const Process& process, Process::Row* row) {
  if (row->size_class > kMostSizeClass) {
    *row = {};
    return true;
  }
  bool changed = false;
  if (row->labels.length_bytes != 0 && process.TextOf(row->labels).empty()) {
    row->labels = {};
    changed = true;
  }
  if (row->node > process.nodes.size()) {
    row->node = 0;
    changed = true;
  }
  for (Sum* sum : {&row->allocated, &row->live, &row->peak}) changed |= Limit(sum);
  ALLOMON_DCHECK_LE("inv.formats.repaired", row->node, process.nodes.size());
  ALLOMON_DCHECK("inv.formats.repaired", row->live.bytes >= 0 && row->peak.bytes >= 0);
  return changed;
}

bool IsRow(const Process& process, uint32_t number) {
  return number <= process.rows.size() && process.rows[number - 1].size_class != 0;
}

bool Repair(const Process& process, Process::Event* event) {
  if (event->kind == 0 || event->row == 0) {
    *event = {};
    return false;
  }
  if (event->kind > static_cast<uint8_t>(EventKind::kPromoted) || !IsRow(process, event->row)) {
    *event = {};
    return true;
  }
  const bool bytes = event->log2_bytes != kAgeUnknown && Limit(&event->log2_bytes);
  const bool nanos = Limit(&event->log2_nanos);
  ALLOMON_DCHECK_LE("inv.formats.repaired", event->log2_nanos, kMostLog2);
  return Limit(&event->sum) || bytes || nanos;
}

bool Repair(const Process& process, LiveBlock* block) {
  if (block->row == 0) {
    *block = {};
    return false;
  }
  if (!IsRow(process, block->row) || block->size_bytes > kMostBytes) {
    *block = {};
    return true;
  }
  if (block->thread <= process.threads.size()) return false;
  block->thread = 0;
  return true;
}

bool Repair(const Process& process, Scope* scope) {
  if (scope->thread == 0) {
    *scope = {};
    return false;
  }
  const bool is_thread = scope->thread == kEveryThread || scope->thread <= process.threads.size();
  const bool is_time = scope->end_nanos == 0 || scope->begin_nanos <= scope->end_nanos;
  if (is_thread && is_time && scope->begin_nanos <= kMostNanos && scope->end_nanos <= kMostNanos &&
      !process.TextOf(scope->labels).empty()) {
    return false;
  }
  *scope = {};
  return true;
}

bool Repair(Process::Thread* thread) {
  bool changed = Limit(&thread->allocated);
  changed |= Limit(&thread->live);
  changed |= Limit(&thread->exact_words, kMostBytes);
  changed |= Limit(&thread->estimated_words, static_cast<double>(kMostBytes));
  changed |= Limit(&thread->estimated_words_variance, kMostVariance);
  changed |= Limit(&thread->excess_words, static_cast<double>(kMostBytes));
  changed |= Limit(&thread->first_nanos, kMostNanos);
  changed |= Limit(&thread->last_nanos, kMostNanos);
  ALLOMON_DCHECK("inv.formats.repaired", thread->estimated_words_variance >= 0);
  thread->name[sizeof(thread->name) - 1] = '\0';
  return changed;
}

bool Repair(TimelinePoint* point) {
  bool changed = Limit(&point->nanos, kMostNanos);
  changed |= Limit(&point->allocated_bytes, kMostBytes);
  changed |= Limit(&point->live_bytes, kMostBytes);
  changed |= Limit(&point->most_live_bytes, kMostBytes);
  return changed;
}

bool Repair(Module* module) {
  const bool is_range = module->begin <= module->end &&
                        module->moved_by <= UINT64_MAX - module->end &&
                        module->build_id_bytes <= sizeof(module->build_id);
  if (!is_range) *module = {};
  ALLOMON_DCHECK_LE("inv.formats.repaired", module->begin, module->end);
  return !is_range;
}

}  // namespace

bool IsUsable(const Head& head, std::string* why) {
  const std::string name = "process " + std::to_string(head.record.pid);
  if (!head.has_begun) {
    *why = name + " had not begun to record, and is left out";
    return false;
  }
  const double rate = head.record.rate;
  if (!(rate >= kLeastRate && rate <= 1)) {
    *why = name + " has an impossible rate (" + std::to_string(rate) + "), and is left out";
    return false;
  }
  return true;
}

void Repair(Head* head) {
  Process::Record& record = head->record;
  for (Sum* sum : {&record.allocated, &record.live, &record.peak}) Limit(sum);
  Limit(&head->peak_bytes, static_cast<double>(kMostBytes));
  for (uint32_t i = 0; i < kShortages; ++i) {
    Limit(&record.missing[static_cast<Shortage>(i)], kMostBytes);
  }
  for (uint64_t* nanos : {&record.start_realtime_nanos, &record.start_monotonic_nanos,
                          &record.last_nanos, &record.peak_nanos, &record.memory.nanos}) {
    Limit(nanos, kMostNanos);
  }
  ProcessMemory& memory = record.memory;
  for (uint64_t* bytes : {&memory.resident_bytes, &memory.live_bytes, &memory.most_resident_bytes,
                          &memory.heap.live_bytes, &memory.heap.free_bytes, &memory.heap.kept_bytes,
                          &memory.heap.sampled_free_bytes, &memory.heap.file_bytes}) {
    Limit(bytes, kMostBytes);
  }
}

void RepairRecords(Process* process) {
  uint32_t number = 0;
  for (Node& node : process->nodes) process->damaged += Repair(&node, ++number);
  for (Process::Row& row : process->rows) process->damaged += Repair(*process, &row);
  for (Process::Event& event : process->events) process->damaged += Repair(*process, &event);
  for (Process::Thread& thread : process->threads) Repair(&thread, &process->damaged);
  for (LiveBlock& block : process->live) process->damaged += Repair(*process, &block);
  for (Scope& scope : process->scopes) process->damaged += Repair(*process, &scope);
  for (TimelinePoint& point : process->timeline) process->damaged += Repair(&point);
  process->resident.resize(process->resident.empty() ? 0 : process->timeline.size());
  for (ResidentPoint& point : process->resident) {
    process->damaged += Limit(&point.bytes, kMostBytes);
  }
  for (Module& module : process->modules) process->damaged += Repair(&module);
}

void RepairPeaks(std::vector<PeakSource>* peaks, std::vector<SavedCount>* saved, Process* process) {
  for (SavedCount& count : *saved) {
    const bool blocks = Limit(&count.blocks, kMostSamples);
    process->damaged += Limit(&count.bytes, kMostBytes) || blocks;
  }
  ALLOMON_DCHECK_LE("inv.formats.lengths", peaks->size(), process->rows.size());
  for (PeakSource& source : *peaks) {
    for (uint32_t& number : source.saved) {
      if (number >= PeakSource::kNoHalf || number <= saved->size()) continue;
      number = 0;
      ++process->damaged;
    }
  }
}

void Repair(Process::Thread* thread, uint64_t* damaged) { *damaged += Repair(thread); }

}  // namespace allomon::recording
