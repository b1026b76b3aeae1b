// The rows of a recording: what was allocated and is live, by call stack and class of sizes.
//
// Guarded by the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_ROWS_H_
#define ALLOMON_TRACKER_RECORDING_ROWS_H_

#include <cstdint>

#include "tracker/recording/number_index.h"
#include "tracker/recording/records.h"

namespace allomon::recording {

inline void Add(const Sum& part, Sum* sum) {
  sum->samples += part.samples;
  sum->blocks_scaled += part.blocks_scaled;
  sum->bytes += part.bytes;
}
inline bool Covers(const Sum& sum, const Sum& part) {
  return part.samples <= sum.samples && part.blocks_scaled <= sum.blocks_scaled &&
         part.bytes <= sum.bytes;
}
// `sum` covers `part` (inv.recording.exact).
inline void Subtract(const Sum& part, Sum* sum) {
  sum->samples -= part.samples;
  sum->blocks_scaled -= part.blocks_scaled;
  sum->bytes -= part.bytes;
}

struct RowKey {
  uint32_t node;
  TextRef labels;       // of one set, one text
  uint16_t size_class;  // as in Row
  uint8_t source;
  uint8_t young;
};

class RowTable {
 public:
  void Begin(SegmentSource* source, uint32_t* count) { rows_.Begin(source, count); }
  void Clear();

  // 0 if there is no room.
  uint32_t RowOf(const RowKey& key);

  void AddBlock(uint32_t row, const Sum& block, uint64_t peak_epoch);
  void RemoveBlock(uint32_t row, const Sum& block, uint64_t peak_epoch);
  const Row& At(uint32_t row) const { return rows_.At(row); }

 private:
  Records<Row, SegmentKind::kRows> rows_;
  NumberIndex index_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_ROWS_H_
