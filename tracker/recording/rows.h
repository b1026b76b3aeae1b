// The rows of a recording: sampled blocks by call stack, labels, class of sizes and weight.
//
// Find() and the counting take no lock.  Add() is called under the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_ROWS_H_
#define ALLOMON_TRACKER_RECORDING_ROWS_H_

#include <cstdint>

#include "tracker/core/ids.h"
#include "tracker/core/type_names.h"
#include "tracker/recording/peak.h"
#include "tracker/recording/records.h"

namespace allomon::recording {

struct RowKey {
  internal::StackId stack;
  internal::LabelSetId labels;
  uint16_t size_class;
  uint8_t source;
  uint8_t flags;  // of a Row
  internal::TypeNameId type = 0;
};

class RowTable {
 public:
  void Begin(SegmentSource* source, WrittenField<uint32_t> rows, WrittenField<uint32_t> saved) {
    rows_.Begin(source, rows);
    saved_.Begin(source, saved);
  }
  void Clear();

  // Returns 0 if the key is not there or was missed.  Callers that get 0 look again under the lock.
  uint32_t Find(const RowKey& key) const {
    return index_.Find(HashOf(key), *this,
                       [&](uint32_t number) { return Is(own_.At(number), key); });
  }
  // Adds a key that is not there.  Returns 0 if there is no room.
  uint32_t Add(const RowKey& key, uint32_t node, TextRef labels, const PeakState& peak);

  RowKey KeyOf(uint32_t row) const;

  // Adds one block of `bytes`.  Returns false if its part of the peak had to be saved and there is
  // no room.
  bool AddBlock(uint32_t row, uint64_t bytes, const PeakState& peak) {
    Own& own = own_.At(row);
    const bool kept = KeepPeak(&own, peak);
    own.file[&Row::blocks].Add(1);
    own.file[&Row::bytes].Add(bytes);
    return kept;
  }
  bool RemoveBlock(uint32_t row, uint64_t bytes, const PeakState& peak) {
    Own& own = own_.At(row);
    const bool kept = KeepPeak(&own, peak);
    own.file[&Row::freed_blocks].Add(1);
    own.file[&Row::freed_bytes].Add(bytes);
    return kept;
  }

  // Links of the index.
  std::atomic<uint32_t>& Next(uint32_t row) const { return own_.At(row).next; }
  uint64_t HashOf(uint32_t row) const { return HashOf(KeyOf(row)); }

 private:
  struct Own {
    internal::StackId stack;
    internal::LabelSetId labels;
    uint64_t rest;  // size_class, source << 16, flags << 24, type << 32
    std::atomic<uint32_t> next;
    std::atomic<uint32_t> peak_epoch[kHalves];
    // Number of a SavedCount, or 0 if there is no such record yet.  The bit kKeeping is set while a
    // thread saves the counts.
    std::atomic<uint32_t> saved[kHalves];
    Written<Row> file;
  };
  static_assert(sizeof(Own) == 48);
  static constexpr uint32_t kKeeping = uint32_t{1} << 31;
  static_assert(kMostRecords < kKeeping);

  static uint64_t RestOf(const RowKey& key) {
    return key.size_class | uint32_t{key.source} << 16 | uint32_t{key.flags} << 24 |
           uint64_t{key.type} << 32;
  }
  static uint64_t HashOf(const RowKey& key) {
    return Mix(uint64_t{key.stack} << 32 | key.labels, RestOf(key));
  }
  static bool Is(const Own& own, const RowKey& key) {
    return own.stack == key.stack && own.labels == key.labels && own.rest == RestOf(key);
  }

  // Saves the row's counts at the peak before the row changes.  The counts of a row that has not
  // changed since the peak are those of the peak.
  bool KeepPeak(Own* own, const PeakState& peak) {
    bool kept = true;
    for (uint32_t half = 0; half < kHalves; ++half) {
      // At the peak of one half, the live blocks are counted from the other half.
      if ((own->rest >> 24 & kOfHalf[1 - half]) == 0) continue;
      const uint32_t epoch = peak.Epoch(half);
      // Acquire pairs with the release in KeepPeakSlow(), which has read the counts of the peak.
      if (IsKeptSince(own->peak_epoch[half].load(std::memory_order_acquire), epoch)) continue;
      kept = KeepPeakSlow(own, half, epoch) && kept;
    }
    return kept;
  }
  // A thread that was stopped may know an earlier peak than the row.
  static bool IsKeptSince(uint32_t kept, uint32_t epoch) {
    return static_cast<int32_t>(kept - epoch) >= 0;
  }
  bool KeepPeakSlow(Own* row, uint32_t half, uint32_t epoch);
  uint32_t AddSaved();

  Records<Row, SegmentKind::kRows> rows_;
  Records<SavedCount, SegmentKind::kSaved> saved_;
  OwnArray<Own> own_;
  ChainIndex index_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_ROWS_H_
