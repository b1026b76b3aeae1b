#include "tracker/profile/record/function_counts.h"

#include <sys/mman.h>

#include <algorithm>

#include "tracker/base/lazy_pages.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/formats/source_table.h"
#include "tracker/profile/record/recording.h"

namespace allomon::internal {
namespace {

// Skips the room for functions of libraries that are loaded later, and for managed functions.
template <typename Visit>
void ForEachUsed(ThreadCounts& counts, Visit visit) {
  const auto visit_all = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < std::min(counts.functions, end); ++i) visit(counts.cells[i]);
  };
  const uint32_t first_managed = first_managed_place.load(std::memory_order_relaxed);
  visit_all(0, FunctionTableSize());
  visit_all(first_managed, first_managed + std::min(ManagedFunctionCount(), kManagedPlaces));
}

}  // namespace

void ThreadCounts::Charge(uint32_t function, uint64_t amount) {
  At(function).current.fetch_add(amount, std::memory_order_relaxed);
  (function == kGcSource ? total_gc : total).fetch_add(amount, std::memory_order_relaxed);
}

void ThreadCounts::AddVariance(double more) {
  double sum = variance.load(std::memory_order_relaxed);
  while (!variance.compare_exchange_weak(sum, sum + more, std::memory_order_relaxed)) {
  }
}

void ThreadCounts::Clear() {
  total.store(0, std::memory_order_relaxed);
  total_gc.store(0, std::memory_order_relaxed);
  variance.store(0, std::memory_order_relaxed);
  ForEachUsed(*this, [](FunctionCell& cell) {
    // The count is read before it is written, so that a page without counts stays unmapped.
    for (std::atomic<uint64_t>* count : {&cell.current, &cell.stack, &cell.stack_gc, &cell.start,
                                         &cell.start_gc, &cell.held, &cell.on_stack}) {
      if (count->load(std::memory_order_relaxed) != 0) count->store(0, std::memory_order_relaxed);
    }
  });
}

bool ThreadCounts::HasFunctionOnStack() {
  bool has = false;
  ForEachUsed(*this, [&has](const FunctionCell& cell) { has |= IsOnStack(cell); });
  return has;
}

void ThreadCounts::Hold() {
  ForEachUsed(*this, [](FunctionCell& cell) {
    if (cell.current.load(std::memory_order_relaxed) == 0) return;
    cell.held.store(cell.Counted(false), std::memory_order_relaxed);
  });
}

void ThreadCounts::Resume() {
  ForEachUsed(*this, [](FunctionCell& cell) {
    const uint64_t current = cell.current.load(std::memory_order_relaxed);
    const uint64_t counted = cell.held.load(std::memory_order_relaxed);
    if (current != 0) cell.held.store(current - counted, std::memory_order_relaxed);
  });
}

ThreadCounts* ThreadCounts::Map(uint32_t functions) {
  void* pages =
      MapLazyPages(nullptr, SizeBytes(functions), MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (!sys::IsAddress(pages)) return nullptr;
  // Zero bytes are valid counts, so no constructor runs: it would touch every page.
  ThreadCounts* counts = static_cast<ThreadCounts*>(pages);
  counts->functions = functions;
  return counts;
}

}  // namespace allomon::internal
