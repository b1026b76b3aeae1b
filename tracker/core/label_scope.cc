#include "tracker/core/label_scope.h"

#include <cstring>

#include "tracker/core/label_counts.h"
#include "tracker/core/label_sets.h"
#include "tracker/core/label_text.h"

namespace allomon::internal {

LabelCounts label_counts;

namespace {

// A list that is longer leads into itself: by a scope that was reused in spite of its seal.
constexpr uint32_t kMostScopes = 1 << 16;

void Count(std::atomic<uint64_t>* count) { count->fetch_add(1, std::memory_order_relaxed); }

// A text behind which a zero or nothing stands; what is beyond the longest is not looked at.
std::string_view TextOf(const char* text, size_t bytes, size_t most) {
  if (text == nullptr) return {};
  return {text, strnlen(text, bytes < most + 1 ? bytes : most + 1)};
}

// From `innermost` outwards, as far as scopes are whole.
void Collect(const LabelScope* scope, const ThreadState& thread, LabelCollector* labels) {
  for (uint32_t i = 0; scope != nullptr && i < kMostScopes; ++i, scope = scope->outer) {
    if (!IsPushed(scope, thread)) return Count(&label_counts.broken_lists);
    if (scope->is_known != 0) return labels->Add(label_sets.View(scope->set));
    if (scope->key == nullptr) continue;
    labels->Add(TextOf(scope->key, scope->key_bytes, kMostLabelKeyBytes),
                TextOf(scope->value, scope->value_bytes, kMostLabelValueBytes));
  }
}

// Where sets are used up, the values of inner labels are left open: those of outer ones are fewer.
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

// Scopes inside of `scope` have ended without a pop: the program left them by longjmp, or took
// scopes of one thread in turns.
bool EndInner(const LabelScope* scope, ThreadState& thread) {
  LabelScope* inner = thread.label_scope;
  for (uint32_t i = 0; i < kMostScopes && inner != nullptr && inner != scope; ++i) {
    // Overwritten: what it led to is not known.  That `scope` is pushed is.
    if (!IsPushed(inner, thread)) return true;
    inner->seal = 0;
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
}

}  // namespace allomon::internal
