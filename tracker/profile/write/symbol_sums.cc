#include "tracker/profile/write/symbol_sums.h"

namespace allomon {

uint32_t AddFunction(SourceTable* table, std::string name, std::string position) {
  const uint32_t index = static_cast<uint32_t>(table->names.size());
  table->names.push_back({std::move(name), std::move(position)});
  table->sources.push_back({index, kNoSuccessors});
  return index;
}

// A tick interrupts an instruction; every other stack begins with a return address.
FirstFrame FirstFrameOf(const ProfileSnapshot& snapshot) {
  return snapshot.kind == ProfileKind::kTime ? FirstFrame::kInterrupted : FirstFrame::kReturn;
}

SymbolSums::SymbolSums(const ProfileSnapshot& snapshot)
    : snapshot_(snapshot), native_(snapshot.exclude, FirstFrameOf(snapshot)) {}

SymbolSums::Use* SymbolSums::UseOf(const NativeFunctions::Function& function) {
  Use*& use = use_of_[&function];
  if (use == nullptr) use = &by_name_[{function.name, function.position}];
  return use;
}

template <typename Visit>
void SymbolSums::ForEachOnStack(const ChargedStack& stack, Visit visit) {
  std::set<Use*> seen;
  for (uint32_t i = 0; i < stack.depth; ++i) {
    Use* use = UseOf(native_.OfFrame(stack, i));
    // A function that used nothing itself also needs a place, to be found in a debug file.
    if (use->places.empty()) AddPlace(stack, i, 0, use);
    if (seen.insert(use).second) visit(use);
  }
}

void SymbolSums::AddPlace(const ChargedStack& stack, uint32_t frame, MlmonInt amount, Use* use) {
  std::vector<Place> places;
  for (const CodeAddress& at : native_.PlacesFrom(stack, frame)) {
    places.emplace_back(at.module, at.start, at.address);
  }
  if (!places.empty()) use->places[std::move(places)] += amount;
}

void SymbolSums::AddManaged(const NamedFunction& function, const MlmonCount& count) {
  if (count.current == 0) return;
  by_name_[{function.name, function.position}].count.current += count.current;
}

void SymbolSums::AddGc(const ChargedStack& stack) {
  ForEachOnStack(stack, [&](Use* use) { use->count.stack_gc += stack.amount; });
}

void SymbolSums::Add(const ChargedStack& stack) {
  if (stack.depth == 0) {
    unknown_ += stack.amount;
    return;
  }
  const uint32_t frame = native_.ChargedFrame(stack);
  Use* use = UseOf(native_.OfFrame(stack, frame));
  use->count.current += stack.amount;
  AddPlace(stack, frame, stack.amount, use);
  if (frame + 1 < stack.depth) use->callers.insert(stack.frames[frame + 1]);
  if (snapshot_.style != ProfileStyle::kStack) return;
  ForEachOnStack(stack, [&](Use* on_stack) { on_stack->count.stack += stack.amount; });
}

void SymbolSums::Describe(uint32_t index, const Use& use, CallSites* call_sites) const {
  call_sites->callers.resize(index + 1);
  call_sites->callers[index] = static_cast<uint32_t>(use.callers.size());
  for (const auto& [places, amount] : use.places) {
    CallSite& site = call_sites->sites.emplace_back();
    site.name_index = index;
    site.amount = amount;
    for (const auto& [module, start, address] : places) {
      site.frames.push_back({module, start, address});
    }
  }
}

std::vector<MlmonCount> SymbolSums::Finish(SourceTable* table, CallSites* call_sites) const {
  std::vector<MlmonCount> counts(table->names.size());
  counts[kUnknownSource].current = unknown_;
  for (const auto& [function, use] : by_name_) {
    if (use.count.current == 0 && snapshot_.style != ProfileStyle::kStack) continue;
    Describe(AddFunction(table, function.first, function.second), use, call_sites);
    counts.push_back(use.count);
  }
  call_sites->wrappers = snapshot_.exclude;
  call_sites->modules = native_.modules();
  return counts;
}

}  // namespace allomon
