#include "tracker/formats/recording_repair.h"

#include <algorithm>
#include <cmath>

namespace allomon::recording {
namespace {

// 72 PB: a process that allocates 10 GB in a second has them after 80 days.  What is larger is
// damage, or was caught between a subtraction and the addition that belongs to it.
constexpr uint64_t kMostBytes = uint64_t{1} << 56;
constexpr uint64_t kMostNanos = uint64_t{1} << 62;
constexpr uint16_t kMostSizeClass = SizeClassOf(UINT64_MAX) + 1;
constexpr uint8_t kMostLog2 = 63;
constexpr double kLeastRate = 1e-12;  // a hit in 8 TB

bool Limit(uint64_t* value, uint64_t most) {
  if (*value <= most) return false;
  *value = 0;
  return true;
}

bool Limit(Sum* sum) {
  const bool samples = Limit(&sum->samples, kMostBytes);
  const bool blocks = Limit(&sum->blocks_scaled, UINT64_MAX >> 1);
  const bool bytes = Limit(&sum->bytes, kMostBytes);
  return samples || blocks || bytes;
}

bool Limit(uint8_t* log2) {
  if (*log2 <= kMostLog2) return false;
  *log2 = kMostLog2;
  return true;
}

bool Repair(Node* node, uint32_t number) {
  const bool is_known = node->kind <= static_cast<uint8_t>(NodeKind::kNamed);
  const bool is_below = node->parent < number;
  if (!is_known) *node = {};
  if (!is_below) {
    node->parent = 0;
    node->cut = 1;
  }
  return !is_known || !is_below;
}

bool Repair(const Process& process, Row* row) {
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
  for (Sum* sum : {&row->allocated, &row->live, &row->saved}) changed |= Limit(sum);
  return changed;
}

bool IsRow(const Process& process, uint32_t number) {
  return number <= process.rows.size() && process.rows[number - 1].size_class != 0;
}

bool Repair(const Process& process, Event* event) {
  if (event->kind == 0 || event->row == 0) {
    *event = {};
    return false;
  }
  if (event->kind > static_cast<uint8_t>(EventKind::kPromoted) || !IsRow(process, event->row)) {
    *event = {};
    return true;
  }
  const bool bytes = Limit(&event->log2_bytes);
  const bool nanos = Limit(&event->log2_nanos);
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

bool Repair(Thread* thread) {
  bool changed = Limit(&thread->allocated);
  changed |= Limit(&thread->live);
  changed |= Limit(&thread->exact_words, kMostBytes);
  changed |= Limit(&thread->estimated_words, kMostBytes);
  changed |= Limit(&thread->first_nanos, kMostNanos);
  changed |= Limit(&thread->last_nanos, kMostNanos);
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
  return !is_range;
}

}  // namespace

bool IsUsable(const ProcessRecord& record, std::string* why) {
  const std::string name = "process " + std::to_string(record.pid);
  if (record.begun != 1) {
    *why = name + " had not begun to record, and is left out";
    return false;
  }
  if (!(record.rate >= kLeastRate && record.rate <= 1)) {
    *why = name + " has an impossible rate (" + std::to_string(record.rate) + "), and is left out";
    return false;
  }
  return true;
}

void Repair(ProcessRecord* record) {
  for (Sum* sum : {&record->allocated, &record->live, &record->peak}) Limit(sum);
  Limit(&record->estimated_words, kMostBytes);
  Limit(&record->dropped_samples, kMostBytes);
  Limit(&record->dropped_bytes, kMostBytes);
  for (uint64_t* nanos : {&record->start_realtime_nanos, &record->start_monotonic_nanos,
                          &record->last_nanos, &record->peak_nanos}) {
    Limit(nanos, kMostNanos);
  }
}

void RepairRecords(Process* process) {
  uint32_t number = 0;
  for (Node& node : process->nodes) process->damaged += Repair(&node, ++number);
  for (Row& row : process->rows) process->damaged += Repair(*process, &row);
  for (Event& event : process->events) process->damaged += Repair(*process, &event);
  for (Thread& thread : process->threads) process->damaged += Repair(&thread);
  for (LiveBlock& block : process->live) process->damaged += Repair(*process, &block);
  for (TimelinePoint& point : process->timeline) process->damaged += Repair(&point);
  for (Module& module : process->modules) process->damaged += Repair(&module);
}

}  // namespace allomon::recording
