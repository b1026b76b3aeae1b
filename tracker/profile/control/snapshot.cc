#include "tracker/profile/control/snapshot.h"

#include <algorithm>
#include <string>

#include "tracker/callstack/managed_functions.h"
#include "tracker/core/stack_table.h"
#include "tracker/formats/count_units.h"
#include "tracker/names/wrappers.h"
#include "tracker/profile/control/profile_control.h"
#include "tracker/profile/hooks/entry_hooks.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/registered_functions.h"

namespace allomon::internal {
namespace {

std::string Position(const char* file, int line) {
  return std::string(file) + ": " + std::to_string(line);
}

std::vector<NamedFunction> NamesOfRegistered() {
  std::vector<const SourceFunction*> by_id(RegisteredFunctionCount() + 1);
  for (SourceFunction* f = RegisteredFunctions(); f != nullptr; f = f->next) {
    if (f->id < by_id.size()) by_id[f->id] = f;
  }
  std::vector<NamedFunction> names;
  for (const SourceFunction* function : by_id) {
    if (function == nullptr) continue;
    names.push_back({function->signature, Position(function->file, function->line)});
  }
  return names;
}

std::vector<NamedFunction> NamesOfManaged(uint32_t count) {
  std::vector<NamedFunction> names;
  for (uint32_t number = 0; number < count; ++number) {
    ManagedFunctionName function = {};
    ManagedFunctionAt(number, &function);
    names.push_back({std::string(function.name),
                     std::string(function.file) + ": " + std::to_string(function.line)});
  }
  return names;
}

ChargedStack StackOf(uint32_t stack, MlmonInt amount) {
  const StackView view = Stacks().View(stack);
  return {view.frames, view.depth, amount};
}

ProfileSnapshot::Charge ChargeOfRecording() {
  if (!ChargesCallstacks()) return ProfileSnapshot::Charge::kFunctions;
  return HasFunctions() ? ProfileSnapshot::Charge::kHookedCallers
                        : ProfileSnapshot::Charge::kSymbols;
}

// The functions that a program names are not used for live blocks, which were charged to call
// stacks.
void AddLive(const LiveHeap& heap, ProfileSnapshot* snapshot) {
  snapshot->live = true;
  snapshot->variance = heap.variance;
  snapshot->dropped_bytes = heap.dropped_bytes;
  for (size_t stack = 0; stack < heap.bytes_by_stack.size(); ++stack) {
    const double bytes = heap.bytes_by_stack[stack];
    if (bytes <= 0) continue;
    const double amount = bytes * UnitsPerCount(ProfileKind::kAlloc);
    snapshot->stacks.push_back(
        StackOf(static_cast<uint32_t>(stack), static_cast<MlmonInt>(amount + 0.5)));
  }
}

UnitError AddUnit(UnitName unit, ProfileSnapshot* snapshot) {
  snapshot->charge = ChargeOfRecording();
  snapshot->answers_for_itself = answers_for_itself.load(std::memory_order_relaxed);
  snapshot->functions = FunctionsOfProgram();
  MergedCounts merged;
  merged.functions.resize(kFirstHookIndex + snapshot->functions.hooks.size() +
                          snapshot->functions.registered.size());
  merged.managed.resize(std::min(ManagedFunctionCount(), kManagedPlaces));
  if (const UnitError error = MergeUnit(unit, &merged); error != UnitError::kNone) return error;
  snapshot->managed = NamesOfManaged(static_cast<uint32_t>(merged.managed.size()));
  snapshot->function_counts = std::move(merged.functions);
  snapshot->managed_counts = std::move(merged.managed);
  snapshot->variance = merged.variance;
  if (snapshot->charge == ProfileSnapshot::Charge::kFunctions) return UnitError::kNone;
  return VisitStacks(
      unit,
      [=](uint32_t stack, uint64_t amount) {
        snapshot->stacks.push_back(StackOf(stack, MlmonInt{amount}));
      },
      [=](uint32_t stack, uint64_t amount) {
        snapshot->gc_stacks.push_back(StackOf(stack, MlmonInt{amount}));
      });
}

}  // namespace

ProgramFunctions FunctionsOfProgram() {
  const HookedFunctions hooked = FindHookedFunctions();
  return {{hooked.starts, hooked.starts + hooked.count}, NamesOfRegistered()};
}

UnitError TakeSnapshot(UnitName unit, ProfileSnapshot* snapshot) {
  const RecordingOptions options = LastRecording();
  snapshot->kind = recording.kind.load(std::memory_order_relaxed);
  snapshot->style = recording.style.load(std::memory_order_relaxed);
  snapshot->rate = options.rate;
  snapshot->seed = options.seed.value_or(0);
  snapshot->hz = options.hz;
  snapshot->exclude = WrappersOf(snapshot->kind, options.exclude);
  const std::shared_ptr<const LiveHeap> live = LastLiveHeap();
  if (live == nullptr) return AddUnit(unit, snapshot);
  AddLive(*live, snapshot);
  return UnitError::kNone;
}

}  // namespace allomon::internal
