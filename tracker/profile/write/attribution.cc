#include "tracker/profile/write/attribution.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tracker/callstack/managed_functions.h"
#include "tracker/profile/hooks/entry_hooks.h"
#include "tracker/profile/profile_control.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/source_function.h"
#include "tracker/profile/write/function_name.h"
#include "tracker/profile/write/native_functions.h"

namespace allomon {
namespace {

using Counts = std::vector<MlmonCount>;

// Names and sources are one to one: C++ functions have no split copies here.
uint32_t AddFunction(SourceTable* table, std::string name, std::string position) {
  const uint32_t index = static_cast<uint32_t>(table->names.size());
  table->names.push_back({std::move(name), std::move(position)});
  table->sources.push_back({index, kNoSuccessors});
  return index;
}

void AddHookedFunctions(SourceTable* table) {
  const internal::HookedFunctions hooked = internal::FindHookedFunctions();
  if (hooked.count == 0) return;
  const std::unique_ptr<ProcessSymbols> symbols = ProcessSymbols::Load();
  for (uint32_t i = 0; i < hooked.count; ++i) {
    Symbol symbol = symbols->Resolve(hooked.starts[i]);
    AddFunction(table, std::move(symbol.name), std::move(symbol.position));
  }
}

void AddRegisteredFunctions(SourceTable* table) {
  std::vector<const SourceFunction*> by_id(internal::RegisteredFunctionCount() + 1);
  for (SourceFunction* f = internal::RegisteredFunctions(); f != nullptr; f = f->next) {
    if (f->id < by_id.size()) by_id[f->id] = f;
  }
  for (const SourceFunction* function : by_id) {
    if (function == nullptr) continue;
    AddFunction(table, FunctionNameOf(function->signature),
                std::string(function->file) + ": " + std::to_string(function->line));
  }
}

// Name and position.
using Name = std::pair<std::string, std::string>;

Name ManagedName(uint32_t number) {
  ManagedFunctionName function = {};
  internal::ManagedFunctionAt(number, &function);
  return {std::string(function.name),
          std::string(function.file) + ": " + std::to_string(function.line)};
}

uint32_t ManagedFunctions() {
  return std::min(internal::ManagedFunctionCount(), internal::kManagedPlaces);
}

// Charges call stacks to functions of the symbol tables, and extends the table by them in
// the order of their names, so that equal runs give equal tables.
class SymbolSums {
 public:
  SymbolSums() : native_(internal::LastRecording().exclude) {}

  void AddManaged(uint32_t number, const MlmonCount& count) {
    if (count.current != 0) by_name_[ManagedName(number)].current += count.current;
  }

  // What the collector used with that stack below it.
  void AddGc(uint32_t stack, MlmonInt amount) {
    std::set<Name> seen;
    native_.ForEachOfStack(stack, [&](const NativeFunctions::Function& on_stack) {
      if (seen.insert(Key(on_stack)).second) by_name_[Key(on_stack)].stack_gc += amount;
    });
  }

  void Add(uint32_t stack, MlmonInt amount) {
    const NativeFunctions::Function* function = native_.OfStack(stack);
    if (function == nullptr) {
      unknown_ += amount;
      return;
    }
    by_name_[Key(*function)].current += amount;
    std::set<Name> seen;
    native_.ForEachOfStack(stack, [&](const NativeFunctions::Function& on_stack) {
      // Recursion counts once.
      if (seen.insert(Key(on_stack)).second) by_name_[Key(on_stack)].stack += amount;
    });
  }

  Counts Finish(SourceTable* table, bool stack_style) const {
    Counts counts(table->names.size());
    counts[kUnknownSource].current = unknown_;
    for (const auto& [function, count] : by_name_) {
      if (count.current == 0 && !stack_style) continue;
      AddFunction(table, function.first, function.second);
      counts.push_back(count);
    }
    return counts;
  }

 private:
  static Name Key(const NativeFunctions::Function& function) {
    return {function.name, function.position};
  }

  NativeFunctions native_;
  std::map<Name, MlmonCount> by_name_;
  MlmonInt unknown_ = 0;
};

MlmonInt Rounded(MlmonInt amount, MlmonInt divisor) { return (amount + divisor / 2) / divisor; }

// Whole numbers for each row, and the rounded sum for their total: what one row loses by
// rounding is carried to the next.
void RoundCurrent(MlmonInt divisor, Counts* counts) {
  MlmonInt sum = 0;
  MlmonInt written = 0;
  for (MlmonCount& count : *counts) {
    sum += count.current;
    count.current = Rounded(sum, divisor) - written;
    written += count.current;
  }
}

MlmonInt Clamp(MlmonInt value, MlmonInt low, MlmonInt high) {
  return std::min(std::max(value, low), high);
}

// What holds before rounding, and but for threads that count meanwhile, holds after it:
// current <= stack <= total.
void RoundStack(MlmonInt divisor, const Mlmon& mlmon, Counts* counts) {
  if (mlmon.style != ProfileStyle::kStack) return;
  for (MlmonCount& count : *counts) {
    count.stack = Clamp(Rounded(count.stack, divisor), count.current, mlmon.total);
    count.stack_gc = Clamp(Rounded(count.stack_gc, divisor), 0, mlmon.total_gc);
  }
  // As in MLton: the collector interrupts itself.
  (*counts)[kGcSource].stack = 0;
  (*counts)[kGcSource].stack_gc = mlmon.total_gc;
}

Mlmon MakeMlmon(Counts counts, uint32_t magic) {
  Mlmon mlmon;
  mlmon.kind = internal::recording.kind.load(std::memory_order_relaxed);
  mlmon.style = internal::recording.style.load(std::memory_order_relaxed);
  mlmon.magic = magic;
  const MlmonInt divisor = internal::UnitsPerCount(mlmon.kind);
  RoundCurrent(divisor, &counts);
  for (const MlmonCount& count : counts) mlmon.total += count.current;
  mlmon.total_gc = counts[kGcSource].current;
  mlmon.total -= mlmon.total_gc;
  RoundStack(divisor, mlmon, &counts);
  mlmon.splits = counts;
  mlmon.masters = std::move(counts);
  return mlmon;
}

// Top level code is below everything that a program which names functions uses; nobody
// calls it, so it is not among the counted.
void PutMainBelow(Counts* counts) {
  if (internal::recording.kind.load(std::memory_order_relaxed) == ProfileKind::kCount) return;
  MlmonCount& main = (*counts)[kMainSource];
  for (const MlmonCount& count : *counts) main.stack += count.current;
  main.stack -= (*counts)[kGcSource].current;
  main.stack_gc = (*counts)[kGcSource].current;
}

internal::UnitError Merge(internal::UnitName unit, AttributedProfile* profile, Counts* functions,
                          Counts* managed) {
  internal::MergedCounts merged;
  merged.functions.resize(profile->sources.names.size());
  merged.managed.resize(ManagedFunctions());
  const internal::UnitError error = internal::MergeUnit(unit, &merged);
  profile->variance = merged.variance;
  *functions = std::move(merged.functions);
  *managed = std::move(merged.managed);
  return error;
}

// Managed functions come behind those of the program text.
internal::UnitError CountByFunction(internal::UnitName unit, AttributedProfile* profile,
                                    Counts* counts) {
  Counts managed;
  const internal::UnitError error = Merge(unit, profile, counts, &managed);
  if (error != internal::UnitError::kNone) return error;
  for (uint32_t number = 0; number < managed.size(); ++number) {
    Name name = ManagedName(number);
    AddFunction(&profile->sources, std::move(name.first), std::move(name.second));
    counts->push_back(managed[number]);
  }
  return error;
}

// Code without hooks is charged to the function with one that called it.
class HookedSums {
 public:
  explicit HookedSums(Counts* counts) : counts_(*counts) {
    const internal::HookedFunctions hooked = internal::FindHookedFunctions();
    for (uint32_t i = 0; i < hooked.count; ++i) {
      by_start_[hooked.starts[i]] = internal::IndexOfHook(i);
    }
  }

  void Add(uint32_t stack, MlmonInt amount) {
    uint32_t index = stack == 0 ? kUnknownSource : kMainSource;
    native_.FindInStack(stack, [&](const NativeFunctions::Function& function) {
      const uint32_t hooked = IndexOf(function.start);
      if (hooked != 0) index = hooked;
      return hooked != 0;
    });
    counts_[index].current += amount;
  }

 private:
  // 0 if it has no hook.  The hook may come behind a landing instruction (endbr64).
  uint32_t IndexOf(uintptr_t start) const {
    constexpr uintptr_t kLandingBytes = 4;
    const auto found = by_start_.lower_bound(start);
    if (found == by_start_.end() || found->first > start + kLandingBytes) return 0;
    return found->second;
  }

  Counts& counts_;
  NativeFunctions native_;
  std::map<uintptr_t, uint32_t> by_start_;
};

internal::UnitError CountByHookedStack(internal::UnitName unit, AttributedProfile* profile,
                                       Counts* counts) {
  internal::UnitError error = CountByFunction(unit, profile, counts);
  if (error != internal::UnitError::kNone) return error;
  HookedSums sums(counts);
  return internal::VisitStacks(
      unit, [&](uint32_t stack, uint64_t amount) { sums.Add(stack, MlmonInt{amount}); },
      [](uint32_t, uint64_t) {});
}

internal::UnitError CountBySymbol(internal::UnitName unit, AttributedProfile* profile,
                                  Counts* counts) {
  Counts managed;
  internal::UnitError error = Merge(unit, profile, counts, &managed);
  if (error != internal::UnitError::kNone) return error;
  SymbolSums sums;
  for (uint32_t i = 0; i < managed.size(); ++i) sums.AddManaged(i, managed[i]);
  error = internal::VisitStacks(
      unit, [&](uint32_t stack, uint64_t amount) { sums.Add(stack, MlmonInt{amount}); },
      [&](uint32_t stack, uint64_t amount) { sums.AddGc(stack, MlmonInt{amount}); });
  const Counts fixed = std::move(*counts);
  *counts = sums.Finish(&profile->sources, internal::recording.stack_style());
  for (const uint32_t source : {kGcSource, kMainSource}) {
    (*counts)[source].current = fixed[source].current;
  }
  return error;
}

// The functions of a program that names some are of no use here: what is live was charged to
// call stacks.
void CountLive(const internal::LiveHeap& heap, AttributedProfile* profile, Counts* counts) {
  profile->sources = FixedSourceTable();
  profile->variance = heap.variance;
  profile->dropped_bytes = heap.dropped_bytes;
  SymbolSums sums;
  for (size_t stack = 0; stack < heap.bytes_by_stack.size(); ++stack) {
    const double bytes = heap.bytes_by_stack[stack];
    if (bytes <= 0) continue;
    const double amount = bytes * internal::UnitsPerCount(ProfileKind::kAlloc);
    sums.Add(static_cast<uint32_t>(stack), static_cast<MlmonInt>(amount + 0.5));
  }
  *counts = sums.Finish(&profile->sources, internal::recording.stack_style());
}

internal::UnitError CountUnit(internal::UnitName unit, AttributedProfile* profile, Counts* counts) {
  profile->sources = RegisteredSourceTable();
  const bool has_functions = internal::HasFunctions();
  const size_t functions = profile->sources.names.size();
  const auto count = !internal::ChargesCallstacks() ? CountByFunction
                     : has_functions                ? CountByHookedStack
                                                    : CountBySymbol;
  const internal::UnitError error = count(unit, profile, counts);
  if (error != internal::UnitError::kNone) return error;
  if (count != CountBySymbol && internal::recording.stack_style()) PutMainBelow(counts);
  profile->self_described = internal::answers_for_itself.load() && has_functions &&
                            profile->sources.names.size() == functions;
  return error;
}

}  // namespace

SourceTable RegisteredSourceTable() {
  SourceTable table = FixedSourceTable();
  AddHookedFunctions(&table);
  AddRegisteredFunctions(&table);
  table.magic = ContentMagic(table);
  return table;
}

internal::UnitError Attribute(internal::UnitName unit, AttributedProfile* profile) {
  Counts counts;
  internal::LiveHeap live;
  internal::UnitError error = internal::UnitError::kNone;
  if (internal::LastLiveHeap(&live)) {
    profile->live = true;
    CountLive(live, profile, &counts);
  } else {
    error = CountUnit(unit, profile, &counts);
  }
  if (error != internal::UnitError::kNone) return error;
  profile->sources.magic = ContentMagic(profile->sources);
  profile->mlmon = MakeMlmon(std::move(counts), profile->sources.magic);
  return error;
}

}  // namespace allomon
