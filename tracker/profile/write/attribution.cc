#include "tracker/profile/write/attribution.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "tracker/base/check.h"
#include "tracker/formats/count_units.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/write/native_functions.h"
#include "tracker/profile/write/symbol_sums.h"
#include "tracker/symbols/elf_file.h"

namespace allomon {
namespace {

using Counts = std::vector<MlmonCount>;

MlmonInt Rounded(MlmonInt amount, MlmonInt divisor) { return (amount + divisor / 2) / divisor; }

// Rounds each row to a whole number so that the rows add up to the rounded sum: the part that one
// row loses by rounding is carried to the next row.
void RoundCurrent(MlmonInt divisor, Counts* counts) {
  MlmonInt sum = 0;
  MlmonInt written = 0;
  for (MlmonCount& count : *counts) {
    sum += count.current;
    count.current = Rounded(sum, divisor) - written;
    written += count.current;
  }
}

RoundedTotals TotalsOf(const Counts& counts) {
  RoundedTotals totals;
  for (const MlmonCount& count : counts) totals.total += count.current;
  totals.total_gc = counts[kGcSource].current;
  totals.total -= totals.total_gc;
  return totals;
}

MlmonInt Clamp(MlmonInt value, MlmonInt low, MlmonInt high) {
  return std::min(std::max(value, low), high);
}

void CheckWritten(MlmonInt total, const Counts& counts) {
  for (size_t source = 0; internal::kDebugChecks && source < counts.size(); ++source) {
    if (source == kGcSource) continue;
    const MlmonCount& count = counts[source];
    ALLOMON_DCHECK("inv.written.order", count.current <= count.stack && count.stack <= total);
  }
}

// Maps the stack count, before rounding, of each function that called nothing to the current count
// that RoundCurrent() gave it.  The carry makes it differ from a count that is rounded alone.
std::map<MlmonInt, MlmonInt> RoundedLeaves(const Counts& before, const Counts& counts) {
  std::map<MlmonInt, MlmonInt> rounded;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (before[i].current == before[i].stack) rounded.emplace(before[i].stack, counts[i].current);
  }
  return rounded;
}

// Rounds the stack columns so that inv.written.order holds.  It holds before rounding, except for
// counts that threads changed while they were read.
void RoundStack(MlmonInt divisor, const RoundedTotals& totals, const Counts& before,
                Counts* counts) {
  const std::map<MlmonInt, MlmonInt> leaves = RoundedLeaves(before, *counts);
  for (size_t i = 0; i < counts->size(); ++i) {
    MlmonCount& count = (*counts)[i];
    const bool is_leaf = before[i].current == before[i].stack;
    const auto leaf = leaves.find(before[i].stack);
    const MlmonInt rounded =
        leaf != leaves.end() ? leaf->second : Rounded(before[i].stack, divisor);
    count.stack = is_leaf ? count.current : Clamp(rounded, count.current, totals.total);
    count.stack_gc = Clamp(Rounded(count.stack_gc, divisor), 0, totals.total_gc);
  }
  CheckWritten(totals.total, *counts);
  // The collector's time is its own, as in MLton.
  (*counts)[kGcSource].stack = 0;
  (*counts)[kGcSource].stack_gc = totals.total_gc;
}

using Counts = std::vector<MlmonCount>;
using Charge = ProfileSnapshot::Charge;

// Places in the table of <unknown>, <gc> and <main>.
constexpr uint32_t kFixedSources = kMainSource + 1;

void AddHookedFunctions(const std::vector<uintptr_t>& hooks, SourceTable* table,
                        std::string* missing_names) {
  if (hooks.empty()) return;
  const std::unique_ptr<ProcessSymbols> symbols = ProcessSymbols::Load();
  for (const uintptr_t start : hooks) {
    Symbol symbol = symbols->Resolve(start);
    AddFunction(table, std::move(symbol.name), std::move(symbol.position));
  }
  if (missing_names != nullptr) *missing_names = symbols->MissingNames();
}

Mlmon MakeMlmon(const ProfileSnapshot& snapshot, Counts counts, uint32_t magic) {
  Mlmon mlmon;
  mlmon.kind = snapshot.kind;
  mlmon.style = snapshot.style;
  mlmon.magic = magic;
  const RoundedTotals totals =
      RoundCounts(UnitsPerCount(mlmon.kind), mlmon.style == ProfileStyle::kStack, &counts);
  mlmon.total = totals.total;
  mlmon.total_gc = totals.total_gc;
  mlmon.splits = counts;
  mlmon.masters = std::move(counts);
  return mlmon;
}

// In a program that names functions, <main> is on the stack during all use of the program.  No
// function calls it, so calls are not counted for it.
void PutMainBelow(Counts* counts) {
  MlmonCount& main = (*counts)[kMainSource];
  for (const MlmonCount& count : *counts) main.stack += count.current;
  main.stack -= (*counts)[kGcSource].current;
  main.stack_gc = (*counts)[kGcSource].current;
}

// Returns the counts of all functions.  Managed functions follow those of the program text.
Counts CountByFunction(const ProfileSnapshot& snapshot, SourceTable* table) {
  Counts counts = snapshot.function_counts;
  counts.resize(table->names.size());
  for (const NamedFunction& managed : snapshot.managed) {
    AddFunction(table, managed.name, managed.position);
  }
  counts.insert(counts.end(), snapshot.managed_counts.begin(), snapshot.managed_counts.end());
  return counts;
}

// Charges code without hooks to the innermost function with a hook that called it.
class HookedSums {
 public:
  HookedSums(const ProfileSnapshot& snapshot, Counts* counts)
      : counts_(*counts), native_("", FirstFrameOf(snapshot)) {
    uint32_t index = kFixedSources;
    for (const uintptr_t start : snapshot.functions.hooks) by_start_[start] = index++;
  }

  void Add(const ChargedStack& stack) {
    uint32_t index = stack.depth == 0 ? kUnknownSource : kMainSource;
    native_.FindInStack(stack, [&](const NativeFunctions::Function& function) {
      const uint32_t hooked = IndexOf(function.start);
      if (hooked != 0) index = hooked;
      return hooked != 0;
    });
    counts_[index].current += stack.amount;
  }

 private:
  // Returns 0 if the function has no hook.  The hook may follow a landing instruction (endbr64).
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

Counts CountByHookedStack(const ProfileSnapshot& snapshot, SourceTable* table) {
  Counts counts = CountByFunction(snapshot, table);
  HookedSums sums(snapshot, &counts);
  for (const ChargedStack& stack : snapshot.stacks) sums.Add(stack);
  return counts;
}

Counts CountBySymbol(const ProfileSnapshot& snapshot, NamedProfile* profile) {
  SymbolSums sums(snapshot);
  for (size_t i = 0; i < snapshot.managed_counts.size(); ++i) {
    sums.AddManaged(snapshot.managed[i], snapshot.managed_counts[i]);
  }
  for (const ChargedStack& stack : snapshot.stacks) sums.Add(stack);
  for (const ChargedStack& stack : snapshot.gc_stacks) sums.AddGc(stack);
  Counts counts = sums.Finish(&profile->sources, &profile->call_sites);
  if (profile->missing_names.empty()) profile->missing_names = sums.MissingNames();
  if (snapshot.function_counts.empty()) return counts;
  for (const uint32_t source : {kGcSource, kMainSource}) {
    counts[source].current = snapshot.function_counts[source].current;
  }
  return counts;
}

Counts CountAll(const ProfileSnapshot& snapshot, NamedProfile* profile) {
  if (snapshot.charge == Charge::kSymbols) return CountBySymbol(snapshot, profile);
  SourceTable* table = &profile->sources;
  Counts counts = snapshot.charge == Charge::kFunctions ? CountByFunction(snapshot, table)
                                                        : CountByHookedStack(snapshot, table);
  const bool wants_main =
      snapshot.style == ProfileStyle::kStack && snapshot.kind != ProfileKind::kCount;
  if (wants_main) PutMainBelow(&counts);
  return counts;
}

bool NamesFunctions(const ProgramFunctions& functions) {
  return !functions.hooks.empty() || !functions.registered.empty();
}

// The two-sided 95 % quantile of the normal distribution.
constexpr double k95PercentSigmas = 1.96;

std::string WithCommas(double value) {
  char digits[64];
  snprintf(digits, sizeof(digits), "%.0f", value);
  std::string text = digits;
  for (int i = static_cast<int>(text.size()) - 3; i > 0; i -= 3) {
    text.insert(static_cast<size_t>(i), ",");
  }
  return text;
}

std::string AllocSummary(const NamedProfile& profile, const ProfileSnapshot& snapshot) {
  std::string summary = WithCommas(static_cast<double>(profile.mlmon.total)) +
                        (profile.live ? " bytes live" : " bytes allocated");
  if (profile.variance > 0) {
    const double half_width = k95PercentSigmas * std::sqrt(profile.variance);
    summary += " +- " + WithCommas(std::ceil(half_width)) + " (95 %)";
  }
  char how[96];
  snprintf(how, sizeof(how), ", rate %g per word, seed %llu", snapshot.rate,
           static_cast<unsigned long long>(snapshot.seed));
  summary += how;
  if (profile.dropped_bytes > 0) {
    summary += "; missing, for want of memory: samples of " +
               WithCommas(static_cast<double>(profile.dropped_bytes)) + " bytes";
  }
  return summary;
}

std::string TimeSummary(const Mlmon& mlmon, uint32_t hz) {
  char text[96];
  snprintf(text, sizeof(text), "%.2f seconds of CPU time, looked at %u times a second",
           static_cast<double>(mlmon.total + mlmon.total_gc) / 100, hz);
  return text;
}

constexpr size_t kNone = std::string_view::npos;

// Cuts " [with T = int]" (g++) or " [T = int]" (clang++) off the signature, and returns it as " [T
// = int]".
std::string CutTemplateArguments(std::string_view* signature) {
  const size_t bracket = signature->rfind(" [");
  if (bracket == kNone || signature->back() != ']') return "";
  std::string arguments(signature->substr(bracket + 2));
  *signature = signature->substr(0, bracket);
  if (arguments.rfind("with ", 0) == 0) arguments.erase(0, 5);
  return " [" + arguments;
}

// Returns the index of the '(' that belongs to the last ')' of the text.
size_t OpeningParenthesis(std::string_view text) {
  int depth = 0;
  for (size_t i = text.rfind(')'); i != kNone && i < text.size(); --i) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return kNone;
}

// Returns the index at which the qualified name starts: after the last space that is not inside
// brackets.
size_t NameStart(std::string_view head) {
  int depth = 0;
  for (size_t i = head.size(); i-- > 0;) {
    const char c = head[i];
    if (c == '>' || c == ')' || c == '}') ++depth;
    if (c == '<' || c == '(' || c == '{') --depth;
    if (c == ' ' && depth == 0) return i + 1;
  }
  return 0;
}

// Anonymous namespaces are removed.  Functions with equal names are told apart by their positions.
std::string WithoutAnonymous(std::string name) {
  for (const std::string_view qualifier : {"{anonymous}::", "(anonymous namespace)::"}) {
    for (size_t at; (at = name.find(qualifier)) != std::string::npos;) {
      name.erase(at, qualifier.size());
    }
  }
  return name;
}

std::string NameWithin(std::string_view signature);

}  // namespace

RoundedTotals RoundCounts(MlmonInt divisor, bool has_stack, std::vector<MlmonCount>* counts) {
  const Counts before = *counts;
  RoundCurrent(divisor, counts);
  const RoundedTotals totals = TotalsOf(*counts);
  if (has_stack) RoundStack(divisor, totals, before, counts);
  return totals;
}

SourceTable SourceTableOf(const ProgramFunctions& functions, std::string* missing_names) {
  SourceTable table = FixedSourceTable();
  AddHookedFunctions(functions.hooks, &table, missing_names);
  for (const NamedFunction& function : functions.registered) {
    AddFunction(&table, FunctionNameOf(function.name), function.position);
  }
  table.magic = ContentMagic(table);
  return table;
}

NamedProfile Attribute(const ProfileSnapshot& snapshot) {
  NamedProfile profile;
  profile.sources = SourceTableOf(snapshot.functions, &profile.missing_names);
  const bool has_all_names = profile.missing_names.empty();
  const size_t functions = profile.sources.names.size();
  Counts counts = CountAll(snapshot, &profile);
  profile.sources.magic = ContentMagic(profile.sources);
  profile.mlmon = MakeMlmon(snapshot, std::move(counts), profile.sources.magic);
  profile.variance = snapshot.variance;
  profile.live = snapshot.live;
  profile.dropped_bytes = snapshot.dropped_bytes;
  profile.lacks_memory = internal::elf_memory_refused.load() && !snapshot.functions.hooks.empty();
  // The program, when it is run to answer, may find names that this process does not have.
  profile.self_described = has_all_names && snapshot.answers_for_itself &&
                           NamesFunctions(snapshot.functions) &&
                           profile.sources.names.size() == functions;
  return profile;
}

std::string Summarize(const ProfileSnapshot& snapshot, const NamedProfile& profile) {
  switch (snapshot.kind) {
    case ProfileKind::kAlloc:
      return AllocSummary(profile, snapshot);
    case ProfileKind::kTime:
      return TimeSummary(profile.mlmon, snapshot.hz);
    case ProfileKind::kCount:
      break;
  }
  return WithCommas(static_cast<double>(profile.mlmon.total)) +
         (profile.mlmon.total == 1 ? " call" : " calls");
}

std::string FunctionNameOf(std::string_view signature) {
  return WithoutAnonymous(NameWithin(signature));
}

namespace {

std::string NameWithin(std::string_view signature) {
  const std::string_view whole = signature;
  const std::string arguments = CutTemplateArguments(&signature);
  // The names of operators contain characters that the parser searches for; lambdas have no name to
  // cut out.
  if (signature.find("operator") != kNone || (!signature.empty() && signature.back() == '>')) {
    return std::string(whole);
  }
  const size_t open = OpeningParenthesis(signature);
  if (open == kNone || open == 0) return std::string(whole);
  std::string_view name = signature.substr(0, open);
  name = name.substr(NameStart(name));
  // The '*' or '&' of a function that returns a pointer or reference stands directly before the
  // name.
  while (!name.empty() && (name[0] == '*' || name[0] == '&')) name = name.substr(1);
  if (name.empty()) return std::string(whole);
  return std::string(name) + arguments;
}

}  // namespace

}  // namespace allomon
