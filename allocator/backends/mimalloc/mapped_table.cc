#include "mapped_table.h"

#include <sys/mman.h>

#include <atomic>

#include "tracker/base/check.h"
#include "tracker/base/large_object.h"
#include "tracker/base/own_mappings.h"

namespace allomon::backend {
namespace {

constexpr int kPageShift = 12;
constexpr int kCellShift = 24;
constexpr int kLeafShift = kCellShift + 11;
constexpr size_t kCells = size_t{1} << (kLeafShift - kCellShift);
constexpr size_t kLeaves = size_t{1} << (46 - kLeafShift);
constexpr uintptr_t kStartMask = (uintptr_t{1} << (kCellShift - kPageShift)) - 1;

using Cell = std::atomic<uint64_t>;  // pages << 12 | first page in the cell; 0 for an empty cell

ALLOMON_LARGE_ZEROS std::atomic<Cell*> g_leaves[kLeaves];
std::atomic<size_t> g_bytes{0};
std::atomic<size_t> g_blocks{0};

uint64_t StartInCell(uintptr_t start) { return start >> kPageShift & kStartMask; }

std::atomic<Cell*>& LeafOf(uintptr_t start) {
  return g_leaves[start >> kLeafShift & (kLeaves - 1)];
}

size_t CellIndexOf(uintptr_t start) { return start >> kCellShift & (kCells - 1); }

// Fresh pages hold cells of 0.
Cell* MapLeaf() {
  void* const leaf = mmap(nullptr, kCells * sizeof(Cell), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (leaf == MAP_FAILED) return nullptr;
  internal::NoteMapping(leaf, kCells * sizeof(Cell), internal::MappingUse::kTables);
  return static_cast<Cell*>(leaf);
}

// Acquire pairs with the release of the exchange below: the leaf is mapped.
Cell* EnsureLeaf(std::atomic<Cell*>& place) {
  Cell* leaf = place.load(std::memory_order_acquire);
  if (leaf != nullptr) return leaf;
  Cell* const fresh = MapLeaf();
  if (fresh == nullptr || place.compare_exchange_strong(leaf, fresh, std::memory_order_acq_rel)) {
    return fresh;
  }
  internal::ForgetMapping(fresh);
  munmap(fresh, kCells * sizeof(Cell));  // another thread was quicker
  return leaf;
}

#if defined(__x86_64__)
bool IsOfThisTable(uintptr_t) { return true; }
bool MayBeInTable(uintptr_t) { return true; }
#else
bool MayBeInTable(uintptr_t start) {
  return start >> 46 << 46 == __atomic_load_n(&mapped_blocks.first_address, __ATOMIC_RELAXED);
}
// The first block decides which addresses the table is of: those that its kernel gives out.
bool IsOfThisTable(uintptr_t start) {
  const uint64_t half = start >> 46 << 46;
  uint64_t first = 0;
  return __atomic_compare_exchange_n(&mapped_blocks.first_address, &first, half, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
         first == half;
}
#endif

// Returns nullptr if no mapped block starts exactly there.
Cell* Find(uintptr_t start) {
  Cell* const leaf = LeafOf(start).load(std::memory_order_acquire);
  if (leaf == nullptr || !MayBeInTable(start) || start % (uintptr_t{1} << kPageShift) != 0)
    return nullptr;
  Cell* const cell = &leaf[CellIndexOf(start)];
  const uint64_t value = cell->load(std::memory_order_relaxed);
  return value != 0 && (value & kStartMask) == StartInCell(start) ? cell : nullptr;
}

size_t BytesIn(uint64_t value) { return value >> (kCellShift - kPageShift) << kPageShift; }

}  // namespace

bool EnterMapping(uintptr_t start, size_t size_bytes) {
  if (!IsOfThisTable(start)) return false;
  Cell* const leaf = EnsureLeaf(LeafOf(start));
  if (leaf == nullptr) return false;
  Cell& cell = leaf[CellIndexOf(start)];
  ALLOMON_DCHECK_EQ("inv.mapped.cell", cell.load(std::memory_order_relaxed), 0);
  ALLOMON_DCHECK_EQ("inv.mapped.pages", (start | size_bytes) & ((1u << kPageShift) - 1), 0);
  ALLOMON_DCHECK_LT("inv.mapped.pages", size_t{1} << kCellShift, size_bytes);
  cell.store(size_bytes >> kPageShift << (kCellShift - kPageShift) | StartInCell(start),
             std::memory_order_relaxed);
  ALLOMON_DCHECK_EQ("inv.mapped.cell", BytesOfMapping(start), size_bytes);
  g_bytes.fetch_add(size_bytes, std::memory_order_relaxed);
  g_blocks.fetch_add(1, std::memory_order_relaxed);
  return true;
}

size_t BytesOfMapping(uintptr_t start) {
  const Cell* const cell = Find(start);
  return cell == nullptr ? 0 : BytesIn(cell->load(std::memory_order_relaxed));
}

size_t LeaveMapping(uintptr_t start) {
  Cell* const cell = Find(start);
  if (cell == nullptr) return 0;
  const size_t bytes = BytesIn(cell->exchange(0, std::memory_order_relaxed));
  [[maybe_unused]] const size_t all = g_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  ALLOMON_DCHECK_LE("inv.mapped.total", bytes, all);
  [[maybe_unused]] const size_t blocks = g_blocks.fetch_sub(1, std::memory_order_relaxed);
  ALLOMON_DCHECK_NE("inv.mapped.total", blocks, 0u);
  return bytes;
}

#if defined(__x86_64__)
const process_map::MappedBlocks mapped_blocks = {
    g_leaves, kLeaves, kCells, uintptr_t{1} << 46, uint64_t{1} << kCellShift,
};
#else
process_map::MappedBlocks mapped_blocks = {
    g_leaves, kLeaves, kCells, 0, uint64_t{1} << kCellShift,
};
#endif

MappedTotal TotalOfMappings() {
  return {g_bytes.load(std::memory_order_relaxed), g_blocks.load(std::memory_order_relaxed)};
}

}  // namespace allomon::backend
