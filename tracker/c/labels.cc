// The scopes of the calling thread.
#include "allomon/labels.h"

#include <string_view>

#include "tracker/c/structures.h"
#include "tracker/core/label_scope.h"
#include "tracker/core/label_sets.h"

namespace {

using namespace ::allomon::internal;  // NOLINT: this file is the tracker's own face

static_assert(sizeof(LabelScope) <= sizeof(allomon_label_scope));
static_assert(alignof(LabelScope) <= alignof(allomon_label_scope));
static_assert(sizeof(EndingScope) <= sizeof(allomon_ending_scope));

LabelScope* ScopeIn(allomon_label_scope* scope) { return reinterpret_cast<LabelScope*>(scope); }

void Push(LabelScope* scope, const char* key, size_t key_bytes, const char* value,
          size_t value_bytes, bool has_end) {
  scope->key = key;
  scope->value = value;
  scope->key_bytes = key_bytes;
  scope->value_bytes = value_bytes;
  scope->is_known = 0;
  scope->has_end = has_end && key != nullptr ? 1 : 0;
  PushLabelScope(scope);
}

uint64_t Read(const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); }

}  // namespace

void allomon_label_push(allomon_label_scope* scope, const char* key, const char* value) {
  Push(ScopeIn(scope), key, kUpToZero, value, kUpToZero, false);
}

void allomon_label_push_sized(allomon_label_scope* scope, const char* key, size_t key_bytes,
                              const char* value, size_t value_bytes) {
  Push(ScopeIn(scope), key, key_bytes, value, value_bytes, false);
}

void allomon_label_push_ending(allomon_ending_scope* room, const char* key, size_t key_bytes,
                               const char* value, size_t value_bytes) {
  EndingScope* const ending = reinterpret_cast<EndingScope*>(room);
  // A scope that longjmp left, and that is pushed again, has its end noted first.
  if (IsPushed(&ending->scope, CurrentThread())) PopLabelScope(&ending->scope);
  for (EndingScope::Place& place : ending->places) place = {};
  has_ending_scopes.store(true, std::memory_order_relaxed);
  Push(&ending->scope, key, key_bytes, value, value_bytes, true);
}

void allomon_label_end(const char* key, const char* value) {
  if (key != nullptr) EndLabel(key, value == nullptr ? "" : value);
}

void allomon_label_pop(allomon_label_scope* scope) { PopLabelScope(ScopeIn(scope)); }

// A handler that has interrupted the tracker gets kOtherLabels if the scope's set is not known yet:
// it must not intern the set, since the tracker may hold the lock of the sets.
allomon_labels allomon_labels_current(void) {
  const ThreadState& thread = CurrentThread();
  const LabelScope* const scope = thread.label_scope;
  if (!thread.busy) return CurrentLabelSet(thread);
  if (scope == nullptr) return 0;
  return scope->is_known != 0 ? scope->set : kOtherLabels;
}

void allomon_labels_enter(allomon_label_scope* room, allomon_labels labels) {
  LabelScope* const scope = ScopeIn(room);
  // An invalid number stands for no labels.
  scope->set = label_sets.View(labels).id();
  scope->is_known = 1;
  scope->has_end = 0;
  PushLabelScope(scope);
}

const char* allomon_labels_text(allomon_labels labels, size_t* bytes) {
  const std::string_view text = label_sets.View(labels).text();
  if (bytes != nullptr) *bytes = text.size();
  return text.empty() ? "" : text.data();
}

allomon_status allomon_labels_statistics(allomon_label_statistics* statistics) {
  allomon_label_statistics own = ALLOMON_LABEL_STATISTICS_DEFAULTS;
  own.sets = label_sets.size();
  own.others = Read(label_counts.others);
  own.cut_sets = Read(label_counts.cut_sets);
  own.crowded_sets = Read(label_counts.crowded_sets);
  own.misplaced_pops = Read(label_counts.misplaced_pops);
  own.broken_lists = Read(label_counts.broken_lists);
  return allomon::c::CopyOut(own, sizeof(own), statistics) ? ALLOMON_OK : ALLOMON_INVALID_ARGUMENT;
}
