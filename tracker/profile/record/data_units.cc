#include "tracker/profile/record/data_units.h"

#include <algorithm>
#include <new>

#include "tracker/base/address_space.h"
#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/record/count_source.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/thread_attachment.h"

namespace allomon::internal {

SpinLock units_mutex;

namespace {

constexpr uint32_t kMaxUnits = 65536;

// Room for functions of libraries that are loaded after the first counts were made.
constexpr uint32_t kLaterFunctions = 16384;

ALLOMON_LARGE_ZEROS DataUnit* g_units[kMaxUnits] ALLOMON_GUARDED_BY(units_mutex);
uint32_t g_slots ALLOMON_GUARDED_BY(units_mutex) = 0;  // used so far
ThreadProfile* g_threads ALLOMON_GUARDED_BY(units_mutex) = nullptr;
// The length of all counts.  Functions with hooks have places in them.
uint32_t g_functions ALLOMON_GUARDED_BY(units_mutex) = 0;
// The threads' own counts take no more than an eighth of the address space that the host may have.
// Threads beyond that share the counts of their unit.
constexpr size_t kAddressSpaceParts = 8;
size_t g_own_counts_bytes ALLOMON_GUARDED_BY(units_mutex) = 0;
// The common counts of a unit when there is no memory for them.
ThreadCounts g_no_counts = {};

void CheckLocked() { ALLOMON_DCHECK("inv.units.locked", units_mutex.IsHeldForCheck()); }

ThreadCounts* MapCountsLocked() ALLOMON_REQUIRES(units_mutex) {
  CheckLocked();
  if (g_functions == 0) {
    const uint32_t first_managed = FunctionTableSize() + kLaterFunctions;
    first_managed_place.store(first_managed, std::memory_order_relaxed);
    g_functions = first_managed + kManagedPlaces;
  }
  return ThreadCounts::Map(g_functions);
}

DataUnit* NewUnitLocked(uint32_t slot) ALLOMON_REQUIRES(units_mutex) {
  void* const pages = OwnMemory::Map(sizeof(DataUnit));
  if (pages == nullptr) return nullptr;
  DataUnit* const unit = new (pages) DataUnit;
  unit->slot = slot;
  unit->common = MapCountsLocked();
  if (unit->common == nullptr) {
    OwnMemory::Unmap(pages, sizeof(DataUnit));
    return nullptr;
  }
  g_units[slot] = unit;
  return unit;
}

// The unit that every process has.  Only pages that are used are touched.
DataUnit& TheDefaultUnit() {
  static ALLOMON_LARGE_ZEROS DataUnit unit;
  return unit;
}

DataUnit& DefaultUnitLocked() ALLOMON_REQUIRES(units_mutex) {
  CheckLocked();
  DataUnit& unit = TheDefaultUnit();
  if (unit.common != nullptr) return unit;
  unit.common = MapCountsLocked();
  if (unit.common == nullptr) {
    unit.common = &g_no_counts;
    g_no_counts.functions = 1;
  }
  g_units[0] = &unit;
  g_slots = 1;
  return unit;
}

// Null if the unit of that name was freed.
DataUnit* FindLocked(UnitName name) ALLOMON_REQUIRES(units_mutex) {
  DefaultUnitLocked();
  DataUnit* unit = name.slot < g_slots ? g_units[name.slot] : nullptr;
  return unit != nullptr && !unit->freed && unit->use == name.use ? unit : nullptr;
}

template <typename Visit>
void ForEachCountsLocked(const DataUnit& unit, Visit visit) ALLOMON_REQUIRES(units_mutex) {
  visit(*unit.common);
  for (ThreadCounts* counts = unit.threads; counts != nullptr; counts = counts->next) {
    visit(*counts);
  }
}

template <typename Visit>
void ForEachUnitLocked(Visit visit) ALLOMON_REQUIRES(units_mutex) {
  DefaultUnitLocked();
  for (uint32_t slot = 0; slot < g_slots; ++slot) {
    if (g_units[slot] != nullptr) visit(*g_units[slot]);
  }
}

void ClearUnitLocked(DataUnit& unit) ALLOMON_REQUIRES(units_mutex) {
  ForEachCountsLocked(unit, [](ThreadCounts& counts) { counts.Clear(); });
  unit.by_stack.Clear();
  unit.by_stack_gc.Clear();
}

void StopCounting(ThreadProfile& thread) {
  thread.outermost_cells.store(nullptr, std::memory_order_relaxed);
  thread.cells.store(nullptr, std::memory_order_relaxed);
  thread.step.store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// Makes the thread's fast paths count in its current unit.  Only its own thread changes the value
// of `step_counts`.  A hooked function in a signal handler may run on that thread between any two
// of these stores, so counting is off while `step_counts` changes.
void PointLocked(ThreadProfile& thread) ALLOMON_REQUIRES(units_mutex) {
  CheckLocked();
  const bool is_on = recording.on.load(std::memory_order_relaxed);
  const bool counts_stacks = is_on && recording.stack_style();
  // The thread moves `top`; `bottom` stays as long as the thread is in the registry.
  const bool has_stack = thread.counts != nullptr && thread.bottom != nullptr;
  FunctionCell* const cells = has_stack ? thread.counts->cells : nullptr;
  if (thread.managed_calls != nullptr) {
    thread.managed_calls->running.store(0, std::memory_order_relaxed);
  }
  if (thread.open != nullptr) {
    thread.open->limit.store(is_on ? nullptr : thread.open->end, std::memory_order_relaxed);
  }
  ThreadCounts* const step_counts = &CountsOf(thread);
  if (thread.step_counts.load(std::memory_order_relaxed) != step_counts) {
    StopCounting(thread);
    thread.step_counts.store(step_counts, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  thread.cells.store(counts_stacks ? cells : nullptr, std::memory_order_relaxed);
  const bool counts_calls = recording.Records(ProfileKind::kCount);
  ALLOMON_DCHECK_NE("inv.count.step", thread.step_counts.load(), nullptr);
  thread.step.store(counts_calls ? 1 : 0, std::memory_order_relaxed);
  const bool outermost_will_do = counts_stacks && (counts_calls || ChargesCallstacks());
  thread.outermost_cells.store(outermost_will_do ? cells : nullptr, std::memory_order_relaxed);
}

// Does PointLocked() for the calling thread, and sets its entry counters, whose address is in a
// register.
void PointThisThreadLocked(ThreadProfile& thread) ALLOMON_REQUIRES(units_mutex) {
  PointLocked(thread);
  FunctionCell* const cells = CountsOfThisThreadLocked().cells;
  ForEachCountSource([cells](const CountSource& source) { source.cells_change_locked(cells); });
}

ThreadCounts* FindOrMapCountsLocked(DataUnit& unit) ALLOMON_REQUIRES(units_mutex) {
  for (ThreadCounts* counts = unit.threads; counts != nullptr; counts = counts->next) {
    if (!counts->taken) return counts;
  }
  if (g_own_counts_bytes >= AddressSpacePartBytes(kAddressSpaceParts)) return nullptr;
  ThreadCounts* counts = MapCountsLocked();
  if (counts == nullptr) return nullptr;
  g_own_counts_bytes += ThreadCounts::SizeBytes(g_functions);
  counts->next = unit.threads;
  unit.threads = counts;
  return counts;
}

// The number of threads in the default unit is not kept, since that unit is never freed.
void EnterUnitLocked(DataUnit& unit) ALLOMON_REQUIRES(units_mutex) {
  if (unit.slot != 0) ++unit.current_in;
}

void LeaveUnitLocked(DataUnit& unit) ALLOMON_REQUIRES(units_mutex) {
  if (unit.slot == 0) return;
  ALLOMON_DCHECK_NE("inv.units.current", unit.current_in, 0u);
  --unit.current_in;
}

void MoveToLocked(ThreadProfile& thread, DataUnit& unit, ThreadCounts* counts)
    ALLOMON_REQUIRES(units_mutex) {
  LeaveUnitLocked(UnitOf(thread));
  EnterUnitLocked(unit);
  thread.unit = &unit;
  thread.counts = counts;
  // A thread that has ended takes no counts of its own, because it would never give them back.
  if (thread.attached && !thread.ended) TakeCountsLocked(thread);
  PointThisThreadLocked(thread);
}

// Called when the thread is about to give these counts back.  The functions that came onto the
// stack in these counts leave the stack.  A function with a hook may have returned long ago,
// because nothing has popped it since.
void LeaveCellsOf(ThreadProfile& thread, const ThreadCounts* counts) {
  for (ShadowEntry* entry = thread.top; entry != thread.bottom; --entry) {
    if (entry->cell == nullptr || entry->cell->owner != counts) continue;
    LeaveCell(entry->cell);
    entry->cell = nullptr;
  }
}

}  // namespace

UnitError MallocUnit(UnitName* name) {
  const UnitsLock hold;
  DefaultUnitLocked();
  DataUnit* unit = nullptr;
  for (uint32_t slot = 1; slot < g_slots && unit == nullptr; ++slot) {
    if (g_units[slot]->freed) unit = g_units[slot];
  }
  if (unit == nullptr && g_slots < kMaxUnits && (unit = NewUnitLocked(g_slots)) != nullptr) {
    ++g_slots;
  }
  if (unit == nullptr) return UnitError::kTooMany;
  unit->freed = false;
  *name = {unit->slot, unit->use};
  return UnitError::kNone;
}

UnitError FreeUnit(UnitName name) {
  const UnitsLock hold;
  DataUnit* unit = FindLocked(name);
  if (unit == nullptr) return UnitError::kFreed;
  if (unit->slot == 0) return UnitError::kDefault;
  if (unit->current_in != 0) return UnitError::kCurrent;
  ClearUnitLocked(*unit);
  unit->freed = true;
  ++unit->use;
  return UnitError::kNone;
}

void MakeDefaultUnit() {
  const UnitsLock hold;
  DefaultUnitLocked();
}

DataUnit& UnitOf(const ThreadProfile& thread) {
  DataUnit& unit = thread.unit != nullptr ? *thread.unit : TheDefaultUnit();
  ALLOMON_DCHECK_NE("inv.units.named", unit.common, nullptr);
  return unit;
}

ThreadCounts& CountsOf(const ThreadProfile& thread) {
  return thread.counts != nullptr ? *thread.counts : *UnitOf(thread).common;
}

UnitName CurrentUnit() {
  const UnitsLock hold;
  DefaultUnitLocked();
  const DataUnit& unit = UnitOf(thread_profile);
  return {unit.slot, unit.use};
}

UnitError SwitchUnit(UnitName name, SavedUnit* saved) {
  AttachThread();
  ForEachCountSource([](const CountSource& source) { source.unit_changes(); });
  const UnitsLock hold;
  ThreadProfile& thread = thread_profile;
  DataUnit* unit = FindLocked(name);
  if (unit == nullptr) return UnitError::kFreed;
  const DataUnit& outer = UnitOf(thread);
  *saved = {{outer.slot, outer.use}, thread.counts};
  if (unit == &outer) return UnitError::kNone;
  MoveToLocked(thread, *unit, nullptr);
  return UnitError::kNone;
}

UnitError RestoreUnit(const SavedUnit& saved) {
  ForEachCountSource([](const CountSource& source) { source.unit_changes(); });
  const UnitsLock hold;
  ThreadProfile& thread = thread_profile;
  const DataUnit& inner = UnitOf(thread);
  if (saved.name == UnitName{inner.slot, inner.use}) return UnitError::kNone;
  LeaveCellsOf(thread, thread.counts);
  ReturnCountsLocked(thread);
  DataUnit* unit = FindLocked(saved.name);
  if (unit == nullptr) {
    thread.counts = saved.counts;
    LeaveCellsOf(thread, saved.counts);
    ReturnCountsLocked(thread);
  }
  MoveToLocked(thread, unit != nullptr ? *unit : DefaultUnitLocked(),
               unit != nullptr ? saved.counts : nullptr);
  return unit != nullptr ? UnitError::kNone : UnitError::kFreed;
}

void TakeCountsLocked(ThreadProfile& thread) {
  CheckLocked();
  if (thread.counts != nullptr) return;
  ThreadCounts* counts = FindOrMapCountsLocked(UnitOf(thread));
  if (counts == nullptr) return;
  counts->taken = true;
  thread.counts = counts;
}

void ReturnCountsLocked(ThreadProfile& thread) {
  CheckLocked();
  if (thread.counts != nullptr) {
    ALLOMON_DCHECK("inv.shadow.outermost", !thread.counts->HasFunctionOnStack());
    thread.counts->taken = false;
  }
  thread.counts = nullptr;
}

void RegisterThreadLocked(ThreadProfile& thread) {
  DefaultUnitLocked();
  thread.next = g_threads;
  if (g_threads != nullptr) g_threads->previous = &thread;
  g_threads = &thread;
  EnterUnitLocked(UnitOf(thread));
  TakeCountsLocked(thread);
  PointThisThreadLocked(thread);
}

void ForgetThreadLocked(ThreadProfile& thread) {
  (thread.previous != nullptr ? thread.previous->next : g_threads) = thread.next;
  if (thread.next != nullptr) thread.next->previous = thread.previous;
  thread.previous = thread.next = nullptr;
  LeaveUnitLocked(UnitOf(thread));
  ReturnCountsLocked(thread);
  PointThisThreadLocked(thread);
}

ThreadCounts& CountsOfThisThreadLocked() {
  DefaultUnitLocked();
  const ThreadProfile& thread = thread_profile;
  return thread.counts != nullptr ? *thread.counts : *UnitOf(thread).common;
}

void TellThreadsLocked() {
  CheckLocked();
  for (ThreadProfile* thread = g_threads; thread != nullptr; thread = thread->next) {
    PointLocked(*thread);
  }
}

namespace {

void AddCell(const ThreadCounts& counts, const FunctionCell& cell, bool stopped, MlmonCount* sum) {
  sum->current += cell.Counted(stopped);
  sum->stack += cell.stack.load(std::memory_order_relaxed);
  sum->stack_gc += cell.stack_gc.load(std::memory_order_relaxed);
  if (cell.on_stack.load(std::memory_order_relaxed) == 0) return;
  sum->stack +=
      counts.total.load(std::memory_order_relaxed) - cell.start.load(std::memory_order_relaxed);
  sum->stack_gc += counts.total_gc.load(std::memory_order_relaxed) -
                   cell.start_gc.load(std::memory_order_relaxed);
}

// Adds the cells of the functions from `first` on.
void AddCells(const ThreadCounts& counts, uint32_t first, std::vector<MlmonCount>* sums) {
  const bool stopped = !recording.on.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < sums->size() && first + i < counts.functions; ++i) {
    AddCell(counts, counts.cells[first + i], stopped, &(*sums)[i]);
  }
}

}  // namespace

UnitError MergeUnit(UnitName name, MergedCounts* merged) {
  const UnitsLock hold;
  const DataUnit* unit = FindLocked(name);
  if (unit == nullptr) return UnitError::kFreed;
  ForEachCountSource([](const CountSource& source) { source.counts_are_read_locked(); });
  const uint32_t first_managed = first_managed_place.load(std::memory_order_relaxed);
  ForEachCountsLocked(*unit, [&](const ThreadCounts& counts) {
    merged->variance += counts.variance.load(std::memory_order_relaxed);
    AddCells(counts, 0, &merged->functions);
    if (first_managed != 0) AddCells(counts, first_managed, &merged->managed);
  });
  return UnitError::kNone;
}

UnitError VisitStacks(UnitName name, const StackCounts::Visitor& visit,
                      const StackCounts::Visitor& visit_gc) {
  const DataUnit* unit = nullptr;
  {
    const UnitsLock hold;
    unit = FindLocked(name);
  }
  if (unit == nullptr) return UnitError::kFreed;
  unit->by_stack.ForEach(visit);
  unit->by_stack_gc.ForEach(visit_gc);
  return UnitError::kNone;
}

void HoldAllUnitsLocked() {
  ForEachUnitLocked([](DataUnit& unit) ALLOMON_REQUIRES(units_mutex) {
    ForEachCountsLocked(unit, [](ThreadCounts& counts) { counts.Hold(); });
  });
}

void ResumeAllUnitsLocked() {
  ForEachUnitLocked([](DataUnit& unit) ALLOMON_REQUIRES(units_mutex) {
    ForEachCountsLocked(unit, [](ThreadCounts& counts) { counts.Resume(); });
  });
}

void ClearAllUnitsLocked() { ForEachUnitLocked(ClearUnitLocked); }

void ForgetOtherThreadsLocked() {
  ThreadProfile& thread = thread_profile;
  g_threads = nullptr;
  ForEachUnitLocked([](DataUnit& unit) ALLOMON_REQUIRES(units_mutex) {
    unit.current_in = 0;
    for (ThreadCounts* counts = unit.threads; counts != nullptr; counts = counts->next) {
      counts->taken = false;
    }
  });
  ClearAllUnitsLocked();
  // Functions on the stack stay there.  They are entered again, in counts that are zero.
  for (ShadowEntry* entry = thread.top; entry != thread.bottom; --entry) entry->cell = nullptr;
  if (!thread.attached || thread.ended) return EnterUnitLocked(UnitOf(thread));
  if (thread.counts != nullptr) thread.counts->taken = true;
  thread.previous = thread.next = nullptr;
  RegisterThreadLocked(thread);
  EnterOpenFunctions(thread);
}

}  // namespace allomon::internal
