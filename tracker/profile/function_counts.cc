#include "tracker/profile/function_counts.h"

#include <sys/mman.h>

#include <algorithm>

#include "tracker/profile/recording.h"
#include "tracker/profile/source_table.h"

namespace allomon::internal {
namespace {

// The room for functions of libraries that are loaded later is not looked at.
uint32_t Used(const ThreadCounts& counts) {
  return std::min(counts.functions, FunctionTableSize());
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
  const uint32_t used = Used(*this);
  for (uint32_t i = 0; i < used; ++i) {
    FunctionCell& cell = cells[i];
    // Reading first: a page that was never written to stays unmapped.
    for (std::atomic<uint64_t>* count : {&cell.current, &cell.stack, &cell.stack_gc, &cell.start,
                                         &cell.start_gc, &cell.held, &cell.on_stack}) {
      if (count->load(std::memory_order_relaxed) != 0) count->store(0, std::memory_order_relaxed);
    }
  }
}

void ThreadCounts::Hold() {
  const uint32_t used = Used(*this);
  for (uint32_t i = 0; i < used; ++i) {
    FunctionCell& cell = cells[i];
    if (cell.current.load(std::memory_order_relaxed) == 0) continue;
    cell.held.store(cell.Counted(false), std::memory_order_relaxed);
  }
}

void ThreadCounts::Resume() {
  const uint32_t used = Used(*this);
  for (uint32_t i = 0; i < used; ++i) {
    FunctionCell& cell = cells[i];
    const uint64_t current = cell.current.load(std::memory_order_relaxed);
    const uint64_t counted = cell.held.load(std::memory_order_relaxed);
    if (current != 0) cell.held.store(current - counted, std::memory_order_relaxed);
  }
}

ThreadCounts* ThreadCounts::Map(uint32_t functions) {
  const size_t size_bytes = sizeof(ThreadCounts) + size_t{functions} * sizeof(FunctionCell);
  void* pages = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  // Zero bytes are valid counts; a constructor would touch every page.
  ThreadCounts* counts = static_cast<ThreadCounts*>(pages);
  counts->functions = functions;
  return counts;
}

}  // namespace allomon::internal
