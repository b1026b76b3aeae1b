#include "tracker/recording/rows.h"

#include "tracker/base/waiting.h"

namespace allomon::recording {

void RowTable::Clear() {
  rows_.Clear();
  saved_.Clear();
  own_.Clear();
  index_.Clear();
}

RowKey RowTable::KeyOf(uint32_t row) const {
  const Own& own = own_.At(row);
  return {own.stack,
          own.labels,
          static_cast<uint16_t>(own.rest),
          static_cast<uint8_t>(own.rest >> 16),
          static_cast<uint8_t>(own.rest >> 24),
          static_cast<internal::TypeNameId>(own.rest >> 32)};
}

// A fresh row had no live blocks at the peak.
uint32_t RowTable::Add(const RowKey& key, uint32_t node, TextRef labels, const PeakState& peak) {
  ALLOMON_DCHECK_EQ("inv.recording.key", Find(key), 0u);
  ALLOMON_DCHECK("inv.recording.row", (key.flags & (kOfHalf[0] | kOfHalf[1])) != 0);
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

// One thread saves the counts, and threads that would change the row wait for it.  So the saved
// counts may miss or include only the change of a thread that had passed its check of the epoch
// when the peak came: an error of one block for each such thread (RECORDING.md, 7).
bool RowTable::KeepPeakSlow(Own* row, uint32_t half, uint32_t epoch) {
  std::atomic<uint32_t>& saved = row->saved[half];
  uint32_t number = saved.load(std::memory_order_relaxed) & ~kKeeping;
  for (uint32_t look = 0;
       !saved.compare_exchange_weak(number, number | kKeeping, std::memory_order_acquire);
       number &= ~kKeeping, ++look) {
    internal::PauseBetweenLooks(look);
  }
  if (IsKeptSince(row->peak_epoch[half].load(std::memory_order_relaxed), epoch)) {
    saved.store(number, std::memory_order_release);
    return true;
  }
  const Written<Row> file = row->file;
  ALLOMON_DCHECK_LE("inv.recording.row", number, kMostRecords);
  if (number == 0) number = AddSaved();
  if (number != 0) {
    const Written<SavedCount> count = saved_.At(number);
    count[&SavedCount::blocks].StoreDifference(file[&Row::blocks], file[&Row::freed_blocks]);
    count[&SavedCount::bytes].StoreDifference(file[&Row::bytes], file[&Row::freed_bytes]);
  }
  file.At(&Row::saved, half).Store(number);
  // A reader that sees the epoch also sees the saved counts.
  file.At(&Row::peak_epoch, half).Publish(epoch);
  row->peak_epoch[half].store(epoch, std::memory_order_release);
  saved.store(number, std::memory_order_release);
  return number != 0;
}

// Callers do not hold the lock.
uint32_t RowTable::AddSaved() {
  return WithRoom(saved_.file(), [&]() ALLOMON_REQUIRES(recorder_lock) -> uint32_t {
    return saved_.Reserve() ? saved_.Add(SavedCount{}) : 0;
  });
}

}  // namespace allomon::recording
