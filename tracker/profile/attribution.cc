#include "tracker/profile/attribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "tracker/profile/entry_hooks.h"
#include "tracker/profile/function_name.h"
#include "tracker/profile/native_functions.h"
#include "tracker/profile/profile_control.h"
#include "tracker/profile/recording.h"
#include "tracker/profile/source_function.h"

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

// Charges call stacks to functions of the symbol tables, and extends the table by them in
// the order of their names, so that equal runs give equal tables.
class SymbolSums {
 public:
  void Add(uint32_t stack, MlmonInt amount) {
    const NativeFunctions::Function* function = native_.OfStack(stack);
    if (function == nullptr) {
      unknown_ += amount;
      return;
    }
    by_name_[Key(*function)].current += amount;
    std::map<std::string, bool> seen;
    native_.ForEachOfStack(stack, [&](const NativeFunctions::Function& on_stack) {
      // Recursion counts once.
      MlmonCount& count = by_name_[Key(on_stack)];
      if (seen.emplace(on_stack.name + '\t' + on_stack.position, true).second) {
        count.stack += amount;
      }
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
  using Name = std::pair<std::string, std::string>;
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

internal::UnitError CountByFunction(internal::UnitName unit, AttributedProfile* profile,
                                    Counts* counts) {
  internal::MergedCounts merged;
  merged.functions.resize(profile->sources.names.size());
  const internal::UnitError error = internal::MergeUnit(unit, &merged);
  if (error != internal::UnitError::kNone) return error;
  profile->variance = merged.variance;
  *counts = std::move(merged.functions);
  PutMainBelow(counts);
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
  error = internal::VisitStacks(
      unit, [&](uint32_t stack, uint64_t amount) { sums.Add(stack, MlmonInt{amount}); });
  return error;
}

internal::UnitError CountBySymbol(internal::UnitName unit, AttributedProfile* profile,
                                  Counts* counts) {
  internal::UnitError error = CountByFunction(unit, profile, counts);
  if (error != internal::UnitError::kNone) return error;
  SymbolSums sums;
  error = internal::VisitStacks(
      unit, [&](uint32_t stack, uint64_t amount) { sums.Add(stack, MlmonInt{amount}); });
  const MlmonInt collector = (*counts)[kGcSource].current;
  *counts = sums.Finish(&profile->sources, internal::recording.stack_style());
  (*counts)[kGcSource].current = collector;
  return error;
}

// The functions of a program that names some are of no use here: what is live was charged to
// call stacks.
void CountLive(const internal::LiveHeap& heap, AttributedProfile* profile, Counts* counts) {
  profile->sources = FixedSourceTable();
  profile->variance = heap.variance;
  SymbolSums sums;
  for (size_t stack = 0; stack < heap.bytes_by_stack.size(); ++stack) {
    const double bytes = heap.bytes_by_stack[stack];
    if (bytes <= 0) continue;
    const double amount = bytes * internal::UnitsPerCount(ProfileKind::kAlloc);
    sums.Add(static_cast<uint32_t>(stack), static_cast<MlmonInt>(std::llround(amount)));
  }
  *counts = sums.Finish(&profile->sources, internal::recording.stack_style());
}

internal::UnitError CountUnit(internal::UnitName unit, AttributedProfile* profile, Counts* counts) {
  profile->sources = RegisteredSourceTable();
  const bool has_functions = internal::HasFunctions();
  profile->self_described = has_functions && internal::answers_for_itself.load();
  const auto count = has_functions && !internal::ChargesCallstacks() ? CountByFunction
                     : has_functions                                 ? CountByHookedStack
                                                                     : CountBySymbol;
  return count(unit, profile, counts);
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
