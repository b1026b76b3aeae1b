#include "tracker/profile/mon/call_counts.h"

#include <algorithm>

#include "tracker/base/check.h"
#include "tracker/profile/control/profile_control.h"
#include "tracker/profile/hooks/entry_hooks.h"
#include "tracker/profile/record/data_units.h"
#include "tracker/profile/record/recording.h"

namespace allomon::internal {
namespace {

std::vector<uint64_t> CountsByHook() {
  const uint32_t hooks = FindHookedFunctions().count;
  std::vector<uint64_t> counts(hooks);
  MergedCounts merged;
  merged.functions.resize(FunctionTableSize());
  if (MergeUnit(UnitName{}, &merged) != UnitError::kNone) return counts;
  for (uint32_t hook = 0; hook < hooks; ++hook) {
    ALLOMON_DCHECK_LT("inv.mon.counts", IndexOfHook(hook), merged.functions.size());
    counts[hook] = static_cast<uint64_t>(merged.functions[IndexOfHook(hook)].current);
  }
  return counts;
}

bool IsLower(const CalledFunction& a, const CalledFunction& b) { return a.address < b.address; }

bool IsCalledMore(const CalledFunction& a, const CalledFunction& b) {
  return a.calls != b.calls ? a.calls > b.calls : IsLower(a, b);
}

}  // namespace

uint32_t CountableFunctions() {
  UseHooksOfHost();
  return FindHookedFunctions().count;
}

bool CallCounts::Begin(std::string* error) {
  if (CountableFunctions() == 0) return true;
  RecordingOptions options;
  options.kind = ProfileKind::kCount;
  recording_ = StartRecording(options, error) == RecordingError::kNone;
  if (recording_) before_ = CountsByHook();
  return recording_;
}

std::vector<CalledFunction> CallCounts::End() {
  std::vector<CalledFunction> called;
  if (!recording_) return called;
  StopRecording();
  const std::vector<uint64_t> after = CountsByHook();
  const HookedFunctions hooks = FindHookedFunctions();
  ALLOMON_DCHECK_EQ("inv.mon.counts", before_.size(), after.size());
  for (uint32_t hook = 0; hook < hooks.count; ++hook) {
    ALLOMON_DCHECK_LE("inv.mon.counts", before_[hook], after[hook]);
    const uint64_t calls = after[hook] - before_[hook];
    if (calls > 0) called.push_back({hooks.starts[hook], calls});
  }
  std::sort(called.begin(), called.end(), IsLower);
  return called;
}

bool KeepMostCalled(uintptr_t low, uintptr_t high, uint32_t room,
                    std::vector<CalledFunction>* called) {
  called->erase(
      std::remove_if(called->begin(), called->end(),
                     [=](const CalledFunction& f) { return f.address < low || f.address >= high; }),
      called->end());
  if (called->size() <= room) return false;
  std::sort(called->begin(), called->end(), IsCalledMore);
  called->resize(room);
  std::sort(called->begin(), called->end(), IsLower);
  return true;
}

}  // namespace allomon::internal
