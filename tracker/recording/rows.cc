#include "tracker/recording/rows.h"

namespace allomon::recording {
namespace {

uint64_t HashOf(const RowKey& key) {
  const uint64_t rest = uint64_t{key.size_class} << 16 | uint64_t{key.source} << 8 | key.young;
  return Mix(key.node, uint64_t{key.labels.offset} << 32 | rest);
}

bool Has(const Row& row, const RowKey& key) {
  return row.node == key.node && row.size_class == key.size_class && row.source == key.source &&
         row.young == key.young && row.labels.offset == key.labels.offset &&
         row.labels.length_bytes == key.labels.length_bytes;
}

// To be called before `live` changes: what has not changed since the peak was live at the peak.
void KeepPeak(Row* row, uint64_t peak_epoch) {
  if (row->peak_epoch == peak_epoch) return;
  row->saved = row->live;
  // A reader that sees the epoch finds what was saved.
  __atomic_store_n(&row->peak_epoch, peak_epoch, __ATOMIC_RELEASE);
}

}  // namespace

void RowTable::Clear() {
  rows_.Clear();
  index_.Clear();
}

uint32_t RowTable::RowOf(const RowKey& key) {
  const uint64_t hash = HashOf(key);
  const uint32_t known =
      index_.Find(hash, [&](uint32_t number) { return Has(rows_.At(number), key); });
  if (known != 0 || !index_.Reserve()) return known;
  Row row = {};
  row.node = key.node;
  row.size_class = key.size_class;
  row.source = key.source;
  row.young = key.young;
  row.labels = key.labels;
  const uint32_t number = rows_.Add(row);
  if (number != 0) index_.Insert(hash, number);
  return number;
}

void RowTable::AddBlock(uint32_t number, const Sum& block, uint64_t peak_epoch) {
  Row& row = rows_.At(number);
  KeepPeak(&row, peak_epoch);
  Add(block, &row.allocated);
  Add(block, &row.live);
}

void RowTable::RemoveBlock(uint32_t number, const Sum& block, uint64_t peak_epoch) {
  Row& row = rows_.At(number);
  KeepPeak(&row, peak_epoch);
  Subtract(block, &row.live);
}

}  // namespace allomon::recording
