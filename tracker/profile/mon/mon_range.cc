#include "tracker/profile/mon/mon_range.h"

#include <algorithm>
#include <cstring>

#include "tracker/base/check.h"

namespace allomon::internal {
namespace {

bool Fail(std::string what, std::string* error) {
  *error = std::move(what);
  return false;
}

bool CheckRequest(const MonRequest& request, std::string* error) {
  if (request.high <= request.low) return Fail("highpc must be above lowpc", error);
  if (request.nfunc < 0) return Fail("nfunc is negative: use 0 for no call counts", error);
  if (request.buffer == nullptr) return Fail("the buffer is null", error);
  const uint64_t least = (FixedBytes(static_cast<uint64_t>(request.nfunc)) + 1) / sizeof(WORD);
  if (request.words < 0 || static_cast<uint64_t>(request.words) < least) {
    return Fail("the buffer has " + std::to_string(request.words) + " WORDs, its header and " +
                    std::to_string(request.nfunc) + " call counts need " + std::to_string(least),
                error);
  }
  return true;
}

// Finds the module of the range's code.  A program passes 4 as `low` for "from the start".
bool FindCode(const MonRequest& request, MonModule* module, std::string* error) {
  const auto overlaps = [&] {
    return request.low < module->code_high && request.high > module->code_low;
  };
  if (FindMonModule(request.low, module) && overlaps()) return true;
  if (FindMonModule(request.high - 1, module) && overlaps()) return true;
  return Fail("there is no code between lowpc and highpc", error);
}

}  // namespace

bool MonSampledRange::Plan(const MonRequest& request, std::string* error) {
  if (!CheckRequest(request, error) || !FindCode(request, &module_, error)) return false;
  buffer_ = request.buffer;
  hz_ = request.hz;
  low_ = std::max(request.low, module_.code_low);
  high_ = std::min(request.high, module_.code_high);
  count_room_ = static_cast<uint32_t>(request.nfunc);
  const uint64_t fixed = FixedBytes(count_room_);
  cells_ = static_cast<uint32_t>(std::min(
      static_cast<uint64_t>(request.words) - fixed / sizeof(WORD), MostCells(high_ - low_)));
  cell_bytes_ =
      static_cast<uint32_t>(std::min<uint64_t>(CellBytes(high_ - low_, cells_), UINT32_MAX));
  first_cell_ = buffer_ + fixed / sizeof(WORD);
  ALLOMON_DCHECK_LT("inv.mon.range", low_, high_);
  ALLOMON_DCHECK_LE("inv.mon.buffer", image_bytes(),
                    static_cast<uint64_t>(request.words) * sizeof(WORD));
  return true;
}

void MonSampledRange::Prepare() {
  ticks_.store(0, std::memory_order_relaxed);
  saturated_.store(false, std::memory_order_relaxed);
  memset(buffer_, 0, image_bytes());
  struct hdr header = {};
  header.lpc = reinterpret_cast<char*>(low_);
  header.hpc = reinterpret_cast<char*>(high_);
  header.nfns = static_cast<int>(count_room_);
  header.magic = MON_MAGIC;
  header.ncells = cells_;
  header.cell_bytes = cell_bytes_;
  header.hz = hz_;
  header.bias = module_.bias;
  header.id_bytes = static_cast<unsigned char>(std::min(module_.build_id_bytes, sizeof(header.id)));
  if (header.id_bytes != 0) memcpy(header.id, module_.build_id, header.id_bytes);
  memcpy(buffer_, &header, sizeof(header));
}

bool MonSampledRange::Add(uintptr_t pc, uint64_t ticks) {
  if (pc - low_ >= high_ - low_) return false;
  ticks_.fetch_add(ticks, std::memory_order_relaxed);
  if (cells_ == 0) return true;
  ALLOMON_DCHECK_NE("inv.mon.range", cell_bytes_, 0u);
  WORD* const cell = first_cell_ + CellOf(pc - low_, cell_bytes_, cells_);
  ALLOMON_DCHECK_LE("inv.mon.buffer", reinterpret_cast<const char*>(cell + 1),
                    image() + image_bytes());
  WORD old_value = __atomic_load_n(cell, __ATOMIC_RELAXED);
  WORD new_value;
  do {
    const uint64_t sum = old_value + ticks;
    new_value = static_cast<WORD>(std::min<uint64_t>(sum, UINT16_MAX));
    if (sum > UINT16_MAX) saturated_.store(true, std::memory_order_relaxed);
  } while (!__atomic_compare_exchange_n(cell, &old_value, new_value, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
  return true;
}

void MonSampledRange::FinishHeader(uint64_t other_ticks, bool counts_lost) {
  struct hdr header;
  memcpy(&header, buffer_, sizeof(header));
  header.ticks = ticks_.load(std::memory_order_relaxed);
  header.other_ticks = other_ticks;
  header.flags = (saturated_.load(std::memory_order_relaxed) ? MON_SATURATED : 0) |
                 (counts_lost ? MON_COUNTS_LOST : 0);
  memcpy(buffer_, &header, sizeof(header));
}

void MonSampledRange::SetCount(uint32_t i, uintptr_t function, uint64_t calls) {
  ALLOMON_DCHECK_LT("inv.mon.buffer", i, count_room_);
  const struct cnt count = {reinterpret_cast<char*>(function), static_cast<long>(calls)};
  memcpy(reinterpret_cast<char*>(buffer_) + FixedBytes(i), &count, sizeof(count));
}

}  // namespace allomon::internal
