#include "tracker/core/label_scope.h"

#include <cstddef>
#include <cstring>

#include "tracker/core/busy_mark.h"
#include "tracker/core/label_sets.h"
#include "tracker/core/label_text.h"

namespace allomon::internal {

LabelCounts label_counts;

std::atomic<bool> has_ending_scopes{false};
std::atomic<void (*)(const EndingScope& scope)> recorder_scope_end_hook{nullptr};
std::atomic<void (*)(const LabelSet& label)> recorder_label_end_hook{nullptr};

namespace {

// A longer list must be a cycle, made by a scope whose memory was reused although its seal matched.
constexpr uint32_t kMostScopes = 1 << 16;

void Count(std::atomic<uint64_t>* count) { count->fetch_add(1, std::memory_order_relaxed); }

// Returns the text up to a zero or its end.  Bytes beyond the maximum are not read.
std::string_view TextOf(const char* text, size_t bytes, size_t most) {
  if (text == nullptr) return {};
  return {text, strnlen(text, bytes < most + 1 ? bytes : most + 1)};
}

// Collects labels from the innermost scope outwards, as far as scopes are intact.
void Collect(const LabelScope* scope, const ThreadState& thread, LabelCollector* labels) {
  for (uint32_t i = 0; scope != nullptr && i < kMostScopes; ++i, scope = scope->outer) {
    if (!IsPushed(scope, thread)) return Count(&label_counts.broken_lists);
    if (scope->is_known != 0) return labels->Add(label_sets.View(scope->set));
    if (scope->key == nullptr) continue;
    labels->Add(TextOf(scope->key, scope->key_bytes, kMostLabelKeyBytes),
                TextOf(scope->value, scope->value_bytes, kMostLabelValueBytes));
  }
}

// Interns the labels.  If there is no room for more sets, the values of inner labels become
// "(other)": outer labels have fewer values.
__attribute__((noinline)) LabelSetId Intern(const LabelCollector& labels) {
  if (labels.size() == 0) return 0;
  char room[kMostLabelTextBytes];
  const LabelSetId whole = label_sets.Intern(labels.Text(0, room), kMostLabelSets - kKeptLabelSets);
  if (whole != 0) return whole;
  Count(&label_counts.others);
  for (size_t others = 1; others <= labels.size(); ++others) {
    const LabelSetId set = label_sets.Intern(labels.Text(others, room), kMostLabelSets);
    if (set != 0) return set;
  }
  return kOtherLabels;
}

// Ends scopes inside of `scope` that were left without a pop, by longjmp or by code that
// interleaves scopes on one thread.
bool EndInner(const LabelScope* scope, ThreadState& thread) {
  LabelScope* inner = thread.label_scope;
  for (uint32_t i = 0; i < kMostScopes && inner != nullptr && inner != scope; ++i) {
    // This scope was overwritten, so its link is lost.  `scope` itself is known to be pushed.
    if (!IsPushed(inner, thread)) return true;
    inner->seal = 0;
    if (inner->has_end != 0) EndScopeSlow(*inner);
    inner = inner->outer;
  }
  return inner == scope;
}

}  // namespace

LabelSetId InternLabelsSlow(LabelScope* innermost, const ThreadState& thread) {
  if (innermost->is_known != 0 && IsPushed(innermost, thread)) return innermost->set;
  LabelCollector labels;
  Collect(innermost, thread, &labels);
  if (labels.has_cut()) Count(&label_counts.cut_sets);
  if (labels.has_left_out()) Count(&label_counts.crowded_sets);
  const LabelSetId set = Intern(labels);
  if (!IsPushed(innermost, thread)) return set;
  innermost->set = set;
  std::atomic_signal_fence(std::memory_order_release);
  innermost->is_known = 1;
  return set;
}

void PopLabelScopeSlow(LabelScope* scope, ThreadState& thread) {
  Count(&label_counts.misplaced_pops);
  const bool was_pushed_here = IsPushed(scope, thread);
  if (was_pushed_here && EndInner(scope, thread)) thread.label_scope = scope->outer;
  scope->seal = 0;
  if (was_pushed_here && scope->has_end != 0) EndScopeSlow(*scope);
}

void EndScopeSlow(const LabelScope& scope) {
  static_assert(offsetof(EndingScope, scope) == 0);
  const auto& ending = reinterpret_cast<const EndingScope&>(scope);
  bool is_noted = false;
  for (const EndingScope::Place& place : ending.places) is_noted = is_noted || place.serial != 0;
  const auto end = recorder_scope_end_hook.load(std::memory_order_acquire);
  // A handler that has interrupted the tracker may hold the recorder's lock.
  if (is_noted && end != nullptr && !CurrentThread().busy) end(ending);
}

void EndLabel(std::string_view key, std::string_view value) {
  const auto end = recorder_label_end_hook.load(std::memory_order_acquire);
  // The same, and it may hold the lock of the sets.
  if (end == nullptr || CurrentThread().busy) return;
  const BusyMark busy;
  LabelCollector labels;
  labels.Add(key, value);
  char room[kMostLabelTextBytes];
  const LabelSetId set = label_sets.Intern(labels.Text(0, room), kMostLabelSets - kKeptLabelSets);
  if (set == 0) return Count(&label_counts.others);
  end(label_sets.View(set));
}

EndingScope* FindEndingScope(LabelScope* scope, const ThreadState& thread) {
  for (uint32_t i = 0; scope != nullptr && i < kMostScopes; ++i, scope = scope->outer) {
    if (!IsPushed(scope, thread)) return nullptr;
    if (scope->has_end != 0) return reinterpret_cast<EndingScope*>(scope);
  }
  return nullptr;
}

uint32_t PlaceOfLabel(const LabelScope& scope, const LabelSet& set) {
  LabelCollector own;
  own.Add(TextOf(scope.key, scope.key_bytes, kMostLabelKeyBytes), "");
  char room[kMostLabelTextBytes];
  const LabelSet alone(0, own.Text(0, room));
  uint32_t place = 0;
  for (const Label label : set) {
    if (label.key == (*alone.begin()).key) return place;
    ++place;
  }
  return kNoLabel;
}

}  // namespace allomon::internal
