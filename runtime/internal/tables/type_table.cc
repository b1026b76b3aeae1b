#include "runtime/internal/tables/type_table.h"

#include "tracker/base/check.h"

namespace allomon::gc::internal {

uint32_t& TypeTable::SlotOf(const TypeInfo& type) {
  const uint64_t hash = reinterpret_cast<uintptr_t>(&type) * 0x9e3779b97f4a7c15;
  size_t place = static_cast<size_t>(hash >> 32);
  for (;; ++place) {
    uint32_t& slot = slots_[place & (slots_.size() - 1)];
    if (slot == 0 || rows_[slot - 1].type == &type) return slot;
  }
}

// Keeps at least half of the slots free.
bool TypeTable::Grow() {
  const size_t size = slots_.empty() ? 64 : slots_.size() * 2;
  if (!TryReserve(slots_, size) || !TryReserve(rows_, size / 2)) return false;
  slots_.assign(size, 0);
  for (size_t i = 0; i < rows_.size(); ++i) SlotOf(*rows_[i].type) = static_cast<uint32_t>(i + 1);
  ALLOMON_DCHECK_LE("inv.types.room", 2 * rows_.size(), slots_.size());
  return true;
}

TypeRow* TypeTable::FindSlow(const TypeInfo& type) {
  if (rows_.size() * 2 >= slots_.size() && !Grow()) return nullptr;
  uint32_t& slot = SlotOf(type);
  if (slot == 0) {
    rows_.push_back({&type, 0, 0, 0, 0});
    slot = static_cast<uint32_t>(rows_.size());
  }
  ALLOMON_DCHECK_LE("inv.types.room", 2 * rows_.size(), slots_.size());
  ALLOMON_DCHECK_EQ("inv.types.row", rows_[slot - 1].type, &type);
  last_type_ = &type;
  last_row_ = slot - 1;
  return &rows_[last_row_];
}

}  // namespace allomon::gc::internal
