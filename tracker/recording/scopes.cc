#include "tracker/recording/scopes.h"

namespace allomon::recording {

uint32_t ScopeTable::Take() {
  const uint32_t known = free_.Pop(links());
  if (known != 0) return known;
  if (!scopes_.Reserve() || !own_.Reserve(scopes_.size() + 1)) return 0;
  const uint32_t number = scopes_.Add(Scope{});
  own_.At(number).file = scopes_.At(number);
  return number;
}

// The thread is published last: a reader that sees it sees the rest.
void ScopeTable::Write(uint32_t number, const Scope& scope) const {
  const Written<Scope> file = own_.At(number).file;
  file[&Scope::label].Store(scope.label);
  Store(scope.labels, file, &Scope::labels);
  file[&Scope::begin_nanos].Store(scope.begin_nanos);
  file[&Scope::end_nanos].Store(scope.end_nanos);
  file[&Scope::thread].Publish(scope.thread);
}

uint32_t ScopeTable::Add(const void* owner, uint32_t outer, const Scope& scope) {
  const uint32_t number = Take();
  if (number == 0) return 0;
  Own& own = own_.At(number);
  ALLOMON_DCHECK_EQ("inv.recording.scope", own.uses.load(std::memory_order_relaxed), 0u);
  ALLOMON_DCHECK_NE("inv.recording.scope", number, outer);
  own.owner = owner;
  own.outer = outer;
  own.uses.store(1, std::memory_order_relaxed);
  // The outer scope is open, so it has a use.
  if (outer != 0) AddBlock(outer);
  Write(number, scope);
  return number;
}

// The memory of a scope that was left without a pop may have been written to, so its owner is
// compared.
void ScopeTable::End(uint32_t number, const void* owner, uint64_t nanos) {
  if (number == 0 || number > scopes_.size()) return;
  Own& own = own_.At(number);
  if (own.owner != owner) return;
  own.owner = nullptr;
  own.file[&Scope::end_nanos].Store(nanos);
  Release(number);
}

bool ScopeTable::EndLabel(uint32_t set, TextRef label, uint64_t nanos) {
  if (!of_label_.Reserve(set)) return false;
  uint32_t& number = of_label_.At(set);
  if (number != 0) {
    own_.At(number).file[&Scope::end_nanos].Store(nanos);
    return true;
  }
  number = Add(nullptr, 0, {kEveryThread, 0, label, 0, nanos});
  return number != 0;
}

// Acquire and release: the thread that frees the record has seen the stores of all others to it.
void ScopeTable::Release(uint32_t number) {
  while (number != 0) {
    Own& own = own_.At(number);
    ALLOMON_DCHECK_NE("inv.recording.scope", own.uses.load(std::memory_order_relaxed), 0u);
    if (own.uses.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const uint32_t outer = own.outer;
    own.file[&Scope::thread].Store(0);
    free_.Push(links(), number);
    number = outer;
  }
}

}  // namespace allomon::recording
