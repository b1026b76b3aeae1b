// The scopes with an end of a block that is born.
#include "tracker/core/label_sets.h"
#include "tracker/core/label_text.h"
#include "tracker/core/thread_state.h"
#include "tracker/recording/recorder.h"

namespace allomon::recording {

// A scope that a recording has noted knows its number.
uint32_t Recorder::ScopeOf(internal::LabelScope* innermost, const Birth& birth) {
  if (!internal::has_ending_scopes.load(std::memory_order_relaxed)) return 0;
  if (ThreadTable::IsShared(birth.thread)) return 0;  // its blocks cannot be told apart
  internal::EndingScope* const scope =
      internal::FindEndingScope(innermost, internal::CurrentThread());
  return scope == nullptr ? 0 : EnterScopeSlow(scope, birth, 0);
}

// Notes the scopes with an end outside of it first: the innermost as many as a block has labels.
uint32_t Recorder::EnterScopeSlow(internal::EndingScope* scope, const Birth& birth,
                                  uint32_t depth) {
  internal::EndingScope::Place& place = scope->places[place_];
  if (place.serial == serial_) return place.number;
  const internal::ThreadState& thread = internal::CurrentThread();
  ScopeFacts facts = {};
  facts.owner = scope;
  facts.labels = internal::label_sets.View(internal::InternLabelsSlow(&scope->scope, thread));
  facts.label = internal::PlaceOfLabel(scope->scope, facts.labels);
  facts.thread = birth.thread;
  facts.nanos = birth.sample.nanos;
  internal::EndingScope* const outer = internal::FindEndingScope(scope->scope.outer, thread);
  if (outer != nullptr && depth < internal::kMostLabels) {
    facts.outer = EnterScopeSlow(outer, birth, depth + 1);
  }
  place.number = facts.label == internal::kNoLabel ? 0 : store_.EnterScope(facts);
  // Without room the block still belongs to the scope outside, which this one cannot end.
  if (place.number == 0) place.number = facts.outer;
  place.serial = serial_;
  return place.number;
}

}  // namespace allomon::recording
