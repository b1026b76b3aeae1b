#include "tracker/recording/rows.h"

namespace allomon::recording {

void RowTable::Clear() {
  rows_.Clear();
  saved_.Clear();
  own_.Clear();
  index_.Clear();
}

RowKey RowTable::KeyOf(uint32_t row) const {
  const Own& own = own_.At(row);
  return {own.stack, own.labels, static_cast<uint16_t>(own.rest),
          static_cast<uint8_t>(own.rest >> 16), static_cast<uint8_t>(own.rest >> 24)};
}

// What is fresh has nothing that was live at the peak.
uint32_t RowTable::Add(const RowKey& key, uint32_t node, TextRef labels, const PeakState& peak) {
  if (!rows_.Reserve() || !own_.Reserve(rows_.size() + 1) || !index_.Reserve()) return 0;
  Row row = {};
  row.node = node;
  row.size_class = static_cast<uint16_t>(key.size_class + 1);
  row.source = key.source;
  row.flags = key.flags;
  row.labels = labels;
  Own& own = own_.At(rows_.size() + 1);
  for (uint32_t half = 0; half < kHalves; ++half) {
    row.peak_epoch[half] = peak.Epoch(half);
    own.peak_epoch[half].store(row.peak_epoch[half], std::memory_order_relaxed);
  }
  own.stack = key.stack;
  own.labels = key.labels;
  own.rest = RestOf(key);
  const uint32_t number = rows_.Add(row);
  own.file = rows_.At(number);
  CountHeldStep(index_.Insert(number, *this));
  return number;
}

// The thread that changes the epoch saves.  One that changes the row meanwhile may be saved with
// it, which is an error of one block, as for a reader (RECORDING.md, 7).
bool RowTable::KeepPeakSlow(Own* row, uint32_t half, uint32_t epoch) {
  Own& own = *row;
  uint32_t before = own.peak_epoch[half].load(std::memory_order_relaxed);
  if (before == epoch || !own.peak_epoch[half].compare_exchange_strong(before, epoch)) return true;
  const Written<Row> file = own.file;
  const uint32_t number = SavedOf(&own.saved[half]);
  if (number != 0) {
    const Written<SavedCount> saved = saved_.At(number);
    saved[&SavedCount::blocks].StoreDifference(file[&Row::blocks], file[&Row::freed_blocks]);
    saved[&SavedCount::bytes].StoreDifference(file[&Row::bytes], file[&Row::freed_bytes]);
  }
  file.At(&Row::saved, half).Store(number);
  // A reader that sees the epoch finds what was saved.  Another thread may have saved for a later
  // epoch meanwhile, and must not be left with an earlier one in the file.
  for (uint32_t now = epoch;; epoch = now) {
    file.At(&Row::peak_epoch, half).Publish(epoch);
    now = own.peak_epoch[half].load();
    if (now == epoch) return number != 0;
  }
}

uint32_t RowTable::SavedOf(std::atomic<uint32_t>* own) {
  const uint32_t known = own->load(std::memory_order_acquire);
  if (known != 0) return known;
  const RecorderHold hold;
  if (own->load(std::memory_order_relaxed) == 0 && saved_.Reserve()) {
    own->store(saved_.Add(SavedCount{}), std::memory_order_release);
  }
  return own->load(std::memory_order_relaxed);
}

}  // namespace allomon::recording
